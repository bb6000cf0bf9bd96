"""Build the index of a segment from its records, and the vectors of a model for segments.

    types.*          the types by their keys, and the equations of each type
    index.json       the version of the index
    checksums.json   sizes and hashes of the files

The other files are written by `equations`, `text`, `structure_writer`, `definitions`, `renderings`,
`base_vectors`, `windows`, `acronym_table` and `vectors`. The index of a segment is a pure function
of its records; that of segments that are merged has the same bytes, and is made from theirs
(`merge`). Texts are processed in batches, so that memory grows with distinct words and shapes (and
by a few numbers for each equation). All files are read memory-mapped.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from eqemb.errors import EqembError
from eqemb.index.acronym_table import write_acronyms
from eqemb.index.definitions import index_definitions
from eqemb.index.equations import index_equations
from eqemb.index.merge import merge_indexes
from eqemb.index.merge_arrays import CannotMergeError
from eqemb.index.merge_parts import number_parts
from eqemb.index.postings import load_array
from eqemb.index.renderings import has_renderings, index_renderings, rendering_code
from eqemb.index.segments import IndexSegment, IndexSegments, SegmentSource, has_index
from eqemb.index.structure_writer import index_structure
from eqemb.index.text import BM25_K1, index_text
from eqemb.index.text_index import TextIndex
from eqemb.index.text_segment import TextSegment
from eqemb.index.vectors import KnownVectors, mean_vectors, write_segment, write_space
from eqemb.index.windows import write_windows
from eqemb.library import segments
from eqemb.library.database import Records
from eqemb.library.generations import OpenLibrary
from eqemb.library.integrity import others_in, seal_alone
from eqemb.library.manifest import segment_folder
from eqemb.library.segments import Indexer, SegmentIndex
from eqemb.models.embeddings import Embeddings
from eqemb.storage.array_file import file_hash
from eqemb.storage.atomic import new_file, new_folder, write_json
from eqemb.storage.checksums import CHECKSUMS, find_damage, is_sealed, read_checksums
from eqemb.storage.removal import remove_folder
from eqemb.storage.syncing import sync_folder, sync_handle

_log = logging.getLogger("eqemb")

#: Raised whenever the files of an index, or what they hold, change.
INDEX_VERSION = 12
#: Versions whose files are the same and hold a little less: they are searched as they are, and
#: computed again by `eqemb compact`. 9 and 8 have no words and normal forms of formulas, and no
#: meanings of symbols, which are then found in the article again; 8 lacks some definitions, too.
READABLE_VERSIONS = frozenset({8, 9})
#: Equations from which the words of a segment have windows on disk. Those of smaller ones are found
#: when they are asked for.
WINDOWS_FROM = 100_000


def build_index(records: Records, folder: Path) -> None:
    """Index every equation of the records of a segment into `folder`."""
    folder.mkdir(exist_ok=True)
    for index_part in INDEX_PARTS.values():
        index_part(records, folder)
    index_windows(folder, records)
    finish_index(folder)


def merge_index(parts: Sequence[SegmentIndex], records: Records, folder: Path) -> None:
    """Write the index of the documents of several segments, of which `records` are those left.

    Where a file of a part is damaged, the records are indexed again.

    Raises:
        CannotMergeError: A file is damaged, and these are too many documents to index at once.
    """
    try:
        for part in parts:
            _refuse_damage(part.folder)
        merge_indexes(parts, records, folder)
        index_windows(folder, records)
        finish_index(folder)
    except CannotMergeError as error:
        remove_folder(folder)
        if records.documents > segments.SEGMENT_DOCUMENTS:
            raise
        _log.warning("%s: its papers are indexed again", error)
        build_index(records, folder)


def _refuse_damage(folder: Path) -> None:
    path = damaged_file(folder)
    if path is not None:
        raise CannotMergeError(f"{path} is damaged")


def is_current(folder: Path) -> bool:
    """Whether an index is of this version, with formulas that this code rendered."""
    return bool(index_version(folder) == INDEX_VERSION) and has_renderings(folder)


#: Computes the index of a new segment.
INDEXER = Indexer(f"{INDEX_VERSION} {rendering_code()}", build_index, merge_index, is_current)


def index_windows(folder: Path, records: Records) -> None:
    """Write what a large segment has besides: the windows of its words, and its acronyms."""
    equations = len(load_array(folder, "equations"))
    if equations >= WINDOWS_FROM:
        write_windows(folder, "terms", equations, BM25_K1 + 1)
        source = SegmentSource(folder.name, folder, records)
        segment = IndexSegment(source, 0, first_article=0, first_equation=0, first_type=0)
        write_acronyms(folder, TextSegment(segment, folder))


def indexer_of(library: OpenLibrary) -> Indexer | None:
    """Return the indexer for new segments of a library; None if its segments have no index.

    Refuse a library whose index another version of eqemb wrote.
    """
    if not has_index(library):
        return None
    for part in library.manifest.segments:
        check_version(segment_folder(library.home, part.name) / "index", library.folder)
    return INDEXER


def segments_to_index(library: OpenLibrary) -> list[range]:
    """Return the places of the segments without an index of this version, each as a range.

    An index whose formulas other code rendered can be searched, but is not of this version.
    """
    folders = [segment_folder(library.home, p.name) / "index" for p in library.manifest.segments]
    return [
        range(place, place + 1) for place, folder in enumerate(folders) if not is_current(folder)
    ]


def build_vectors(
    folder: Path,
    model: Embeddings,
    segments: IndexSegments,
    watch: Callable[[int, int], object] = lambda _done, _all: None,
    merged: Mapping[str, Sequence[SegmentIndex]] = MappingProxyType({}),
) -> None:
    """Write the vectors of a model for the segments that `folder` has none for.

    Weights of words and means are those of the segments that the folder was first made for.
    `merged` has the indexes that segments were merged from, whose vectors are taken over.
    """
    text = TextIndex(segments)
    if not folder.exists():
        with new_folder(folder) as place:
            write_space(place, model, text)
            write_version(place)
    for segment, part in zip(segments, text.parts, strict=True):
        watch(segment.number, len(segments))
        if not (folder / segment.name).exists():
            known = known_vectors(folder, segment, merged.get(segment.name, ()))
            with new_folder(folder / segment.name) as place:
                write_segment(folder, place, segment, part, model, known)
                write_version(place)
    if not (folder / "means.npy").exists():
        means = mean_vectors(folder, segments)
        with new_file(folder / "means.npy") as path:
            np.save(path, means)
    if is_sealed(folder) and "means.npy" not in read_checksums(folder).files:
        seal_alone(folder)


def known_vectors(
    folder: Path, segment: IndexSegment, parts: Sequence[SegmentIndex]
) -> KnownVectors:
    """Return the vectors that the parts of a merged segment have, where they are intact."""
    places = [folder / part.folder.parent.name for part in parts]
    intact = [
        is_current(part.folder)
        and index_version(place) == INDEX_VERSION
        and damaged_file(place) is None
        for part, place in zip(parts, places, strict=True)
    ]
    if not any(intact):
        return KnownVectors()
    try:
        numbered = number_parts(parts, segment.equations)
    except CannotMergeError:
        return KnownVectors()
    contexts, types = [], []
    for part, place, is_intact in zip(numbered, places, intact, strict=True):
        if is_intact and len(part.live):
            first = int(part.equations[part.live[0]])
            rows = range(first, first + len(part.live))
            contexts.append((rows, place / "contexts.npy", part.live))
        if is_intact and len(part.new_types):
            first = int(part.types[part.new_types[0]])
            rows = range(first, first + len(part.new_types))
            types.append((rows, place / "types.npy", part.new_types))
    return KnownVectors(contexts, types)


def finish_index(folder: Path) -> None:
    """Write version and checksums, and make all files durable before the library has them."""
    write_version(folder)
    for path in folder.iterdir():
        with path.open("rb") as file:
            sync_handle(file.fileno())
    sync_folder(folder)


def write_version(folder: Path) -> None:
    """Write index.json with the version of the index, and the checksums of the folder."""
    write_json(folder / "index.json", {"format": "eqemb index", "version": INDEX_VERSION})
    seal_alone(folder)


def damaged_file(folder: Path) -> Path | None:
    """Return a file of an index or of vectors that was changed; None if all are intact.

    This reads every file. Call it when a query fails in an unexpected way.
    """
    if is_sealed(folder):
        found = next(find_damage(folder, apart=others_in(folder)), None)
        return None if found is None else found.path
    try:  # older versions wrote hashes of the files into index.json
        files = json.loads((folder / "index.json").read_text("utf-8"))["files"]
    except (OSError, ValueError, TypeError):
        return folder / "index.json"
    except KeyError:
        return folder / CHECKSUMS
    for name, wanted in files.items():
        path = folder / str(name)
        if not path.is_file() or file_hash(path) != wanted:
            return path
    return None


def index_version(folder: Path) -> Any:
    """Return the version of an index; 0 if there is none, or if it does not say."""
    try:
        return json.loads((folder / "index.json").read_text("utf-8"))["version"]
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def check_version(folder: Path, library: Path) -> None:
    """Refuse an index that another version of eqemb wrote."""
    number = index_version(folder)
    if number != INDEX_VERSION and number not in READABLE_VERSIONS:
        raise EqembError(
            f"{library} has an index of version {number}, this version of eqemb reads "
            f"{INDEX_VERSION}: index it again with `eqemb compact`, or use the version of eqemb "
            "that built it"
        )


#: The parts of an index by name, in the order in which they are written.
INDEX_PARTS: dict[str, Callable[[Records, Path], None]] = {
    "equations": index_equations,
    "text": index_text,
    "structure": index_structure,
    "definitions": index_definitions,
    "renderings": index_renderings,
}
