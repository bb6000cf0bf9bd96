"""Compare the answers of one library in five segmentations: they must be equal to the last digit.

    python benchmarks/segmentations.py PAPERS WORK [--model]

PAPERS has the folders ai, ir, ml and nlp. The same papers are put into libraries in five ways:

    at once      one build, segments of 1,000 documents
    small        one build, segments of 40 documents
    added        a build and three additions
    compacted    the same, compacted
    removed      more papers than these, of which the others are removed again

All judged topics and their equations are asked by search, similar and describe. Every answer is
compared as JSON with that of the first library: scores, order, families, words and sentences; so
are the groups of near-duplicates and the digest of the records. With `--model`, every library gets
the model of the first. Prints what differs, and exits with 1 if anything does.
"""

import argparse
import json
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from eqemb.facade.library import Library
from eqemb.facade.update import add_papers, compact_library, remove_articles
from eqemb.facade.use import use_model
from eqemb.library import segments

TOPICS = Path(__file__).parent / "judged" / "topics.toml"
COLLECTIONS = ("ai", "ir", "ml", "nlp")


def build(papers: Path, folder: Path, collections: tuple[str, ...] = COLLECTIONS) -> None:
    """Build a library of collections; the root is that of all."""
    given = [papers / name for name in collections]
    Library.build(given, folder, root=papers, model=False).close()


def small(papers: Path, folder: Path) -> None:
    """Build with small segments."""
    usual = segments.SEGMENT_DOCUMENTS, segments.LARGE_SEGMENT_DOCUMENTS
    segments.SEGMENT_DOCUMENTS = segments.LARGE_SEGMENT_DOCUMENTS = 40  # they are not merged
    try:
        build(papers, folder)
    finally:
        segments.SEGMENT_DOCUMENTS, segments.LARGE_SEGMENT_DOCUMENTS = usual


def added(papers: Path, folder: Path) -> None:
    """Build with the first collection and add the others."""
    build(papers, folder, COLLECTIONS[:1])
    for name in COLLECTIONS[1:]:
        add_papers(folder, papers / name)


def compacted(papers: Path, folder: Path) -> None:
    """Add, then compact."""
    added(papers, folder)
    compact_library(folder)


def removed(papers: Path, folder: Path) -> None:
    """Build with other papers too, and remove those."""
    others = papers / "other"
    build(papers, folder, ("ai", "ir", "other", "ml", "nlp") if others.is_dir() else COLLECTIONS)
    with Library.open(folder) as library:
        names = [name for _, name, group in library.records.article_ids() if group == "other"]
        skipped = [name for name, origin in library.records.origins() if origin[:6] == "other/"]
    if names:
        remove_articles(folder, dict.fromkeys([*names, *skipped]))


WAYS: dict[str, Callable[[Path, Path], None]] = {
    "at once": build,
    "small": small,
    "added": added,
    "compacted": compacted,
    "removed": removed,
}


def answers(folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield every answer of a library, by question."""
    topics = tomllib.loads(TOPICS.read_text("utf-8"))["topic"]
    with Library.open(folder) as library:
        yield "records", library.records.sha256()
        yield "near-duplicates", library.records.groups
        for topic in topics:
            text = topic["query"]
            if topic["kind"] == "words":
                yield f"search {text}", library.search(text, 20).to_json()
            else:
                yield f"similar {text}", library.similar(text, 20).to_json()
                yield f"describe {text}", library.describe(text, 10).to_json()


def main() -> int:
    """Build the libraries and compare their answers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("papers", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--model", action="store_true", help="also compare with a model")
    asked = parser.parse_args()
    first = asked.work / "at-once"
    failed = 0
    wanted: dict[str, Any] = {}
    for name, make in WAYS.items():
        folder = asked.work / name.replace(" ", "-")
        if not (folder / "library.json").exists():
            make(asked.papers, folder)
        with Library.open(folder) as library:
            count, documents = len(library.manifest.segments), library.records.count()
            if asked.model and library.model is None:
                model = asked.work / "model"
                library.close()
                use_model(folder, model)
        found = {key: json.dumps(value, sort_keys=True) for key, value in answers(folder)}
        wanted = wanted or found
        differing = [key for key in wanted if wanted[key] != found.get(key)]
        failed += len(differing)
        print(
            f"{name:10} {documents:,} documents in {count} segments: {len(found)} answers,"
            f" {len(differing)} differ from {first.name}"
        )
        for key in differing[:5]:
            print(f"    {key}")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
