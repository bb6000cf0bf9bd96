"""A model of any kind can be the library's own: its vectors reach search, similar and describe."""

import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from axes import make_library, make_model, set_model
from eqemb.errors import UsageError
from eqemb.facade.library import Library
from eqemb.index.build import build_vectors, damaged_file
from eqemb.models.embeddings import Embeddings

COSINE = r"\cos(x, y) = \frac{x \cdot y}{\|x\| \|y\|}"


@contextmanager
def library_with(tmp_path: Path, *arrays: str) -> Iterator[Library]:
    """Open a library whose own model has only these arrays."""
    with make_library(tmp_path, model=False) as library:
        whole = make_model(library)
        kinds = {name.partition("_")[2] for name in arrays}
        model = Embeddings(
            whole.config,
            {name: whole.arrays[name] for name in arrays},
            {kind: keys for kind, keys in whole.keys.items() if kind in kinds},
        )
        set_model(library, model)
    with Library.open(tmp_path / "library") as library:
        yield library


def test_word_vectors_alone_rank_contexts(tmp_path: Path) -> None:
    """Also where a model has alpha of words and no rho; equations have no vectors then."""
    with library_with(tmp_path, "alpha_words") as library:
        hits = library.search("angle", by="meaning").hits
        assert {hit.article for hit in hits[:2]} <= {"angles", "documents"}
        assert library.similar("angles#1").hits
        assert library.describe("angles#1").words
        assert library.query(["cosine"]).hits
        assert library.words("cosine", 3).words
        with pytest.raises(UsageError, match="no unit vectors"):
            library.query([("V!x", "V!y", "n")])
        with pytest.raises(UsageError, match="the model has no vector for this equation"):
            library.similar("angles#1", by="meaning")
        with pytest.raises(UsageError, match=r"^the model \(eqemb-h\) has no equation vectors"):
            library.search("angle", by="paper")


def test_equation_vectors_alone_rank_types(tmp_path: Path) -> None:
    """As EqEmb has them: known equations have their own vectors, others have none."""
    arrays = ("rho_words", "alpha_words", "rho_equations", "alpha_equations")
    with library_with(tmp_path, *arrays) as library:
        hits = library.similar("angles#1", by="meaning").hits
        assert hits[0].equation.id == "documents#1"
        assert all("meaning" in hit.parts for hit in library.similar(COSINE))
        unseen = library.similar(r"\cos(x, y) + \aleph")
        assert unseen.hits
        assert all("meaning" not in hit.parts for hit in unseen)
        assert library.describe(COSINE).words
        assert library.query(["angles#1"], ["harmonic"]).hits
        assert library.similar("angles#1", by="paper").hits
        with pytest.raises(UsageError, match="no vector for this equation, nor unit vectors"):
            library.similar(r"\cos(x, y) + \aleph", by="paper")
        with pytest.raises(UsageError, match="the model has no vector for this equation"):
            library.similar(r"\cos(x, y) + \aleph", by="meaning")


def test_a_model_without_words_is_refused(tmp_path: Path) -> None:
    """Contexts are made of words."""
    with (
        pytest.raises(UsageError, match="has no word vectors: a library's own model needs them"),
        library_with(tmp_path, "alpha_equations"),
    ):
        pass


def test_vectors_are_made_for_segments_that_have_none(tmp_path: Path) -> None:
    """Those that are there stay, and so do weights and means."""
    with closing(make_library(tmp_path)) as library:  # whose files change while it is open
        place = library.home / "vectors" / library.manifest.vectors
        segments, model = library.engine.segments, library.model
        assert model is not None
        before = {path: path.read_bytes() for path in place.rglob("*.*")}
        (one,) = (path for path in place.iterdir() if path.is_dir())
        kept = place / "weights.npy"
        shutil.rmtree(one)
        kept.write_bytes(before[kept][::-1])
        assert damaged_file(place) == kept
        kept.write_bytes(before[kept])
        stamp = kept.stat().st_mtime_ns
        build_vectors(place, model, segments)
        assert {path: path.read_bytes() for path in place.rglob("*.*")} == before
        assert kept.stat().st_mtime_ns == stamp
        assert damaged_file(place) is None
        assert damaged_file(one) is None
