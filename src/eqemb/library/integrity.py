"""What the checksums of a library cover, and how they hang together.

    library.json                       has the hash of the checksums of the current generation
    generations/N/checksums.json       its files, and the hashes of the checksums of its parts:
    segments/NAME/checksums.json       the files of a segment; of its index, index/checksums.json
    vectors/NAME/checksums.json        the files that hold for all segments
    vectors/NAME/SEGMENT/...           the vectors of a segment

Parts are written once, and their checksums with them. So the hash in library.json stands for all
that a library answers from, and a change reads only what it wrote. Folders that come and go without
a new generation have checksums of their own: the map, approximate indexes, models, corpora, splits
and encoded equations. The first change of a library that an older version made adds them all.
"""

from collections.abc import Iterator
from pathlib import Path

from eqemb.library.manifest import Manifest, Segment, segment_folder
from eqemb.library.papers import LEFT_OUT
from eqemb.library.source_record import SOURCES
from eqemb.storage.array_file import file_hash
from eqemb.storage.checksums import (
    CHECKSUMS,
    ListedFile,
    check_file,
    is_sealed,
    listed_files,
    read_checksums,
    seal,
)

#: The folder of a generation's map, and of approximate indexes among the vectors of segments.
MAP, APPROXIMATE = "map", "ann"
#: The folder of equations that an encoder has encoded.
ENCODED = "encoded"
_INDEX = "index"
#: Folders below the library's with checksums of their own.
_SEPARATE = ("models/*", "corpus/*/*", "splits/*/*", ENCODED)


def part_names(manifest: Manifest) -> Iterator[str]:
    """Yield the paths of the parts of a library below its folder: segments and their vectors."""
    names = [part.name for part in manifest.segments]
    yield from (f"segments/{name}" for name in names)
    if manifest.vectors:
        yield f"vectors/{manifest.vectors}"
        yield from (f"vectors/{manifest.vectors}/{name}" for name in names)


def separate_folders(home: Path, generation: Path, manifest: Manifest) -> Iterator[Path]:
    """Yield the existing folders of a library that have checksums of their own."""
    patterns = [f"generations/{generation.name}/{MAP}", *_SEPARATE]
    if manifest.vectors:
        patterns.append(f"vectors/{manifest.vectors}/{APPROXIMATE}/*")
    for pattern in patterns:
        for folder in sorted(home.glob(pattern)):
            if folder.is_dir() and not folder.name.startswith("."):
                yield folder


def seal_generation(generation: Path, *, is_first: bool) -> str:
    """Write the checksums of a finished generation, and return their hash.

    If they are the first of a library, other folders get theirs, too.
    """
    home, manifest = generation.parents[1], Manifest.load(generation)
    parts = {}
    for name in part_names(manifest):
        if not is_sealed(home / name):
            _seal_part(home / name)
        parts[name] = file_hash(home / name / CHECKSUMS)
    for folder in separate_folders(home, generation, manifest) if is_first else ():
        if not is_sealed(folder):
            seal(folder)
    # `update` replaces these records after a look that changed nothing else
    seal(generation, apart=[MAP], parts=parts, changing=[SOURCES, LEFT_OUT])
    return file_hash(generation / CHECKSUMS)


def _seal_part(folder: Path) -> None:
    """Write the checksums of a part that an older version made."""
    if (folder / _INDEX).is_dir() and not is_sealed(folder / _INDEX):
        seal(folder / _INDEX)
    seal_alone(folder)


def seal_alone(folder: Path) -> None:
    """Write the checksums of a part; only an index within belongs to it."""
    seal(folder, others_in(folder))


def others_in(folder: Path) -> list[str]:
    """Return the names of the folders in that of a part that do not belong to it."""
    return [path.name for path in folder.glob("*/") if path.name != _INDEX]


def check_records(home: Path, segment: Segment) -> None:
    """Read what is not computed again of a segment; raise an error that names a damaged file."""
    for name in ("records.sqlite", "sketches.safetensors"):
        check_file(segment_folder(home, segment.name) / name)


def library_files(
    generation: Path, sha256: str | None, manifest: Manifest | None, remedy: str, *, indexed: bool
) -> Iterator[ListedFile]:
    """Yield the files that a library answers from, as its checksums describe them.

    Args:
        generation: The current generation.
        sha256: The hash of its checksums, if it is known.
        manifest: Only parts of this manifest; None for all.
        remedy: What an error advises.
        indexed: Whether the files of the index and of vectors are among them.

    """
    home = generation.parents[1]
    yield from listed_files(generation, sha256, remedy, [MAP])
    wanted = None if manifest is None else set(part_names(manifest))
    for name, digest in read_checksums(generation, sha256, remedy).parts.items():
        if (wanted is None or name in wanted) and (indexed or name.startswith("segments/")):
            apart = [*others_in(home / name), *([] if indexed else [_INDEX])]
            yield from listed_files(home / name, digest, remedy, apart)
