"""Measure what merging segments costs against indexing their papers again.

    python benchmarks/merging.py LIBRARY FOLDER [--documents 90] [--copies 1] [--merge-only]

The papers of LIBRARY, which has an index, are written into FOLDER as segments of --documents
papers; without it, the segments of LIBRARY are used as they are, each --copies times. They are
merged into one segment: records, sketches, summary and index. Then the records of that segment are
indexed again, and the files of both indexes are compared. Each step runs in a process of its own;
CPU seconds and memory are those of the process (Linux). Memory includes mapped pages of files.
"""

import argparse
import shutil
import sys
import time
from contextlib import closing
from pathlib import Path

from processes import run_measured

from eqemb.index.build import INDEXER, build_index, merge_index
from eqemb.library import segments
from eqemb.library.database import Records
from eqemb.library.generations import OpenLibrary
from eqemb.library.ingest import rewrite_segments
from eqemb.library.manifest import Manifest, segment_folder
from eqemb.library.segments import MERGED, Indexer, SegmentWriter


def cut(library: Path, folder: Path, documents: int) -> None:
    """Write the papers of a library into segments of so many documents, and index them."""
    generation = folder / "generations" / "1"
    generation.mkdir(parents=True)
    segments.SEGMENT_DOCUMENTS = documents
    writer = SegmentWriter(generation, INDEXER)
    with OpenLibrary.open(library) as opened:
        for record in opened.records.sources():
            writer.add(record)
        writer.finish()
        Manifest(tuple(writer.segments), opened.manifest.root).save(generation)


def use(library: Path, folder: Path) -> None:
    """Link the segments of a library into a folder."""
    generation = folder / "generations" / "1"
    generation.mkdir(parents=True)
    (folder / "segments").mkdir()
    with OpenLibrary.open(library) as opened:
        for part in opened.manifest.segments:
            place = segment_folder(folder, part.name)
            place.symlink_to(segment_folder(library.resolve(), part.name))
        opened.manifest.save(generation)


def merge(folder: Path, copies: int) -> None:
    """Merge all segments of a folder into one; print the CPU seconds of its steps."""
    generation = folder / "generations" / "1"
    parts = Manifest.load(generation).segments * copies
    times = [time.process_time()]

    def timed(*given: object) -> None:
        times.append(time.process_time())
        merge_index(*given)  # type: ignore[arg-type]
        times.append(time.process_time())

    segments.LARGE_SEGMENT_DOCUMENTS = sum(part.live for part in parts)
    indexer = Indexer(INDEXER.version, build_index, timed, INDEXER.can_merge)
    writer = SegmentWriter(generation, indexer, MERGED)
    (made,) = rewrite_segments(parts, writer, lambda _count: None)
    records, index = times[1] - times[0], times[2] - times[1]
    with closing(Records(segment_folder(folder, made.name) / "records.sqlite")) as found:
        equations = sum(found.numbering_counts().values())
    print(f"{len(parts)} segments, {made.documents:,} documents, {equations:,} equations")
    print(f"records, sketches and summary: {records:.1f} CPU s; index: {index:.1f} CPU s")
    print(made.name)


def index_again(folder: Path, name: str) -> None:
    """Index the records of the merged segment, and count the files that differ."""
    place = segment_folder(folder, name)
    with closing(Records(place / "records.sqlite")) as records:
        build_index(records, folder / "again")
    names = {path.name for at in (place / "index", folder / "again") for path in at.iterdir()}
    differing = [
        name
        for name in sorted(names)
        if not (place / "index" / name).exists()
        or not (folder / "again" / name).exists()
        or (place / "index" / name).read_bytes() != (folder / "again" / name).read_bytes()
    ]
    print(f"{len(names)} files, {len(differing)} differ: {' '.join(differing) or 'none'}")


def main() -> int:
    """Cut, merge, index again and compare, each in a process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("library", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--documents", type=int, default=0, help="cut into segments of so many")
    parser.add_argument("--copies", type=int, default=1, help="merge each segment so often")
    parser.add_argument("--merge-only", action="store_true", help="do not index again")
    parser.add_argument("--step", default="", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step == "merge":
        merge(asked.folder, asked.copies)
        return 0
    if asked.step:
        index_again(asked.folder, asked.step)
        return 0
    shutil.rmtree(asked.folder, ignore_errors=True)
    if asked.documents:
        cut(asked.library, asked.folder, asked.documents)
    else:
        use(asked.library, asked.folder)
    command = [sys.executable, __file__, str(asked.library), str(asked.folder)]
    merged = run_measured([*command, "--copies", str(asked.copies), "--step", "merge"])
    *said, name = merged.output.split("\n")[:-1]
    print("\n".join(said))
    print(
        f"merging: {merged.cpu_seconds:.1f} CPU s, {merged.peak_megabytes:,.0f} MB of memory,"
        f" {merged.peak_anonymous_megabytes:,.0f} MB of it allocated",
        flush=True,
    )
    if asked.merge_only:
        return 0
    again = run_measured([*command, "--step", name])
    print(
        f"indexing again: {again.cpu_seconds:.1f} CPU s, {again.peak_megabytes:,.0f} MB of memory,"
        f" {again.peak_anonymous_megabytes:,.0f} MB of it allocated"
    )
    print(again.output, end="")
    return int(" 0 differ" not in again.output)


if __name__ == "__main__":
    raise SystemExit(main())
