"""An index says what may read it."""

from pathlib import Path

import pytest

from axes import make_library
from eqemb.errors import EqembError
from eqemb.index import VERSION
from eqemb.library import Library


@pytest.mark.parametrize(
    ("written", "found"),
    [(None, 0), ('{"version": 7}', 7), ("no JSON", 0), ("[]", 0)],
)
def test_an_index_of_another_version_is_refused(
    tmp_path: Path, written: str | None, found: int
) -> None:
    """In one sentence, rather than by a file that is not there; what was read is still shown."""
    make_library(tmp_path, model=False).close()
    with Library.open(tmp_path / "library") as library:
        place = library.generation / "index" / "index.json"
        if written is None:
            place.unlink()
        else:
            place.write_text(written, "utf-8")
        assert library.article("angles").equations
        with pytest.raises(EqembError, match=f"index of version {found}, .* reads {VERSION}: make"):
            library.search("cosine")
