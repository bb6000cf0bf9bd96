"""The file of measurements that a plan is computed from: its form, and reading it with checks.

    sizes         for each number of papers: counts, and CPU seconds, bytes and memory by stage
    pairs         seconds to look for near-duplicates of one segment in another, by their size
    merging       CPU seconds and memory of merging segments, by their equations
    approximate   CPU seconds and bytes of approximate indexes, by their rows
    answers       CPU seconds of an answer of a large library, by its equations
    gpu           seconds of a GPU for a word and for an equation
    others        measurements of other machines, with stages that this one lacks

All but the first two come only with the figures that the package contains: `eqemb plan --measure`
measures these two, and the plan says which line is from where. Rows of `merging`, `approximate` and
`answers` name their `source`.
"""

import json
import os
import platform
import re
import time
from dataclasses import asdict, dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any, Self

import numpy as np

from eqemb import __version__
from eqemb.errors import EqembError, UsageError
from eqemb.library.report import counted
from eqemb.storage.atomic import write_json
from eqemb.storage.cache import user_cache

FORMAT, VERSION = "eqemb measurements", 1
SHIPPED = "measurements.json"
#: Tables whose rows name their source.
SOURCED = ("merging", "approximate", "answers")
#: What every size has counted, and which stages it must have.
COUNTS = ("papers", "words", "equations", "types", "vocabulary", "source_bytes")
NEEDED_STAGES = ("read", "text", "structure")
_SIZE_TABLES = {"cpu_seconds", "bytes", "peak_bytes", "ask"}
Row = dict[str, Any]


@dataclass(frozen=True)
class Size:
    """What was measured with one number of papers."""

    papers: int
    words: int
    equations: int
    types: int
    """Distinct equations."""
    vocabulary: int
    """Distinct words."""
    source_bytes: int
    """Bytes of the papers as they were given, usually compressed."""
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    """By stage."""
    bytes: dict[str, int] = field(default_factory=dict)
    """On disk, by what wrote them."""
    peak_bytes: dict[str, int] = field(default_factory=dict)
    """Memory of the largest process of a stage."""
    ask: dict[str, float] = field(default_factory=dict)
    """CPU seconds of a warm answer (median), and memory, while the library is asked."""


@dataclass(frozen=True)
class Measurements:
    """All of them, with where and when they were made."""

    made: str
    machine: str
    versions: dict[str, str]
    command: str
    sizes: tuple[Size, ...]
    pairs: tuple[Row, ...] = ()
    merging: tuple[Row, ...] = ()
    approximate: tuple[Row, ...] = ()
    answers: tuple[Row, ...] = ()
    gpu: dict[str, Any] = field(default_factory=dict)
    others: tuple["Measurements", ...] = ()
    """Measurements of other machines, for stages that this one has not measured."""
    is_shipped: bool = False

    @property
    def largest(self) -> Size:
        """The largest size."""
        return self.sizes[-1]

    @property
    def where(self) -> str:
        """Machine and date, for the lines of a plan."""
        return f"{self.machine}, {self.made}"

    @property
    def cores(self) -> int:
        """Cores of the machine; 0 if its description does not say."""
        found = re.search(r"\b([1-9][0-9]{0,5}) cores?\b", self.machine)
        return int(found[1]) if found else 0

    def save(self, path: Path) -> None:
        """Write the file."""
        write_json(path, {"format": FORMAT, "version": VERSION} | _values(self))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file of measurements; refuse one that is none, with the place of the fault."""
        try:
            text = path.read_text("utf-8")
        except FileNotFoundError:
            raise UsageError(
                f"{path} does not exist: write it with `eqemb plan --measure PAPERS -o {path}`"
            ) from None
        except UnicodeDecodeError:
            text = ""
        return cls.parse(text, str(path))

    @classmethod
    def shipped(cls) -> Self:
        """Read the figures that come with the package."""
        text = resources.files("eqemb.planning").joinpath(SHIPPED).read_text("utf-8")
        return cls.parse(text, SHIPPED, is_shipped=True)

    @classmethod
    def parse(cls, text: str, name: str, *, is_shipped: bool = False) -> Self:
        """Check the text of a file and return what is in it."""
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise EqembError(
                f"{name} is not a file of measurements: write one with `eqemb plan --measure`"
            )
        if found.get("version") != VERSION:
            raise EqembError(
                f"{name} has version {found.get('version')!r} of measurements, this version of"
                f" eqemb reads {VERSION}: measure again with `eqemb plan --measure`"
            )
        try:
            made = cls._checked(found)
            others = tuple(cls._checked(other) for other in found.get("others", ()))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise EqembError(
                f"{name} is damaged ({error}): measure again with `eqemb plan --measure`"
            ) from None
        return replace(made, others=others, is_shipped=is_shipped)

    @classmethod
    def _checked(cls, found: dict[str, Any]) -> Self:
        sizes = sorted((_size(row) for row in found["sizes"]), key=lambda size: size.papers)
        if len(sizes) < 2 or sizes[0].papers == sizes[-1].papers:
            raise ValueError(f"{counted(len(sizes), 'size')}, growth needs two numbers of papers")
        return cls(
            str(found["made"]),
            str(found["machine"]),
            dict(found["versions"]),
            str(found["command"]),
            tuple(sizes),
            tuple(_numbers(row) for row in found.get("pairs", ())),
            tuple(map(_sourced, found.get("merging", ()))),
            tuple(map(_sourced, found.get("approximate", ()))),
            tuple(map(_sourced, found.get("answers", ()))),
            dict(found.get("gpu", {})),
        )


def _values(found: Measurements) -> dict[str, Any]:
    values = asdict(replace(found, others=()))
    del values["is_shipped"]
    return values | {"others": [_values(other) for other in found.others]}


def _size(row: Any) -> Size:
    counts = {name: _whole(name, row[name]) for name in COUNTS}
    tables = {name: _numbers(row.get(name, {})) for name in _SIZE_TABLES}
    for stage in NEEDED_STAGES:
        if stage not in tables["cpu_seconds"]:
            raise ValueError(f"no CPU seconds of {stage} at {counts['papers']:,} papers")
    return Size(**counts, **tables)  # type: ignore[arg-type]


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be a number of at least 1, not {value!r}")
    return value


def _numbers(table: Any) -> dict[str, Any]:
    for name, value in dict(table).items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not np.isfinite(value) or value < 0:
            raise ValueError(f"{name} must be a number of at least 0, not {value!r}")
    return dict(table)


def _sourced(row: Any) -> Row:
    numbers = dict(row)
    return {"source": str(numbers.pop("source"))} | _numbers(numbers)


def default_file() -> Path:
    """Where `--measure` writes: in the user's cache folder."""
    try:
        return user_cache() / SHIPPED
    except RuntimeError as error:
        raise UsageError(f"there is no home folder ({error}): say where with -o FILE") from None


def describe_machine() -> str:
    """Processor and cores of this machine."""
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def describe_versions() -> dict[str, str]:
    """The versions that times depend on."""
    return {
        "eqemb": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def today() -> str:
    """The date, for the file."""
    return time.strftime("%Y-%m-%d")
