"""Record facts about the collections behind the figures, so that others can rebuild them.

    python benchmarks/facts.py MANIFEST.tsv             write collections/NAME.tsv
    python benchmarks/facts.py --check PAPERS           compare packed papers with the facts
    python benchmarks/facts.py --check CLONES --clones  compare clones of the repositories

MANIFEST.tsv has a line for each paper and lies next to the folders of the collections, which hold
the papers as .tar.gz. The recorded columns are `KEPT`: the origin and kind of a paper, none of its
text. PAPERS/COLLECTION/FILE is compared by its sha256; CLONES/OWNER/NAME/COMMIT/PATH, a file of a
repository, by the sha256 of that file in the archive. The exit status is 1 if any file is missing
or changed.
"""

import argparse
import csv
import hashlib
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

FACTS = Path(__file__).parent / "collections"
KEPT = (
    "file", "main", "kind", "numbered_displays", "cluster", "source", "commit", "source_path",
    "licence", "sha256",
)  # fmt: skip
SOURCE_SHA256 = "source_sha256"
Row = dict[str, str]


def main() -> None:
    """Write the facts, or compare papers with them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("manifest", nargs="?", type=Path)
    parser.add_argument("--check", metavar="FOLDER", type=Path, help="papers to compare")
    parser.add_argument("--clones", action="store_true", help="FOLDER holds clones")
    parser.add_argument("--facts", metavar="FOLDER", type=Path, default=FACTS)
    options = parser.parse_args()
    if (options.manifest is None) == (options.check is None):
        parser.error("give MANIFEST.tsv to write facts, or --check FOLDER to compare with them")
    if options.check is None:
        if not options.manifest.is_file():
            parser.error(f"the manifest {options.manifest} does not exist")
        for collection, rows in gathered(options.manifest).items():
            write(options.facts / f"{collection}.tsv", rows)
            print(f"{collection}: {len(rows)} papers")
        return
    if not options.check.is_dir():
        parser.error(f"the folder {options.check} does not exist")
    sys.exit(not report(options.facts, options.check, clones=options.clones))


def read(path: Path) -> list[Row]:
    """Read the lines of a table as dictionaries."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def write(path: Path, rows: list[Row]) -> None:
    """Write the facts of a collection, a line for each paper."""
    path.parent.mkdir(parents=True, exist_ok=True)
    columns = (*KEPT, SOURCE_SHA256)
    lines = ["\t".join(columns), *("\t".join(row[name] for name in columns) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def gathered(manifest: Path) -> dict[str, list[Row]]:
    """Return the facts of each collection, papers by name."""
    found: dict[str, list[Row]] = {}
    for row in sorted(read(manifest), key=lambda row: row["file"]):
        archive = manifest.parent / row["collection"] / row["file"]
        kept = {name: row[name] for name in KEPT}
        kept[SOURCE_SHA256] = source_sha256(archive, row["source_path"])
        found.setdefault(row["collection"], []).append(kept)
    return dict(sorted(found.items()))


def source_sha256(archive: Path, path: str) -> str:
    """Hash the archive's copy of a file of the repository; return '' if it is missing.

    Archives omit folders that all their files share, so the longest matching suffix is used.
    """
    with tarfile.open(archive) as packed:
        ends = [name for name in packed.getnames() if path == name or path.endswith(f"/{name}")]
        if not path or not ends:
            return ""
        content = packed.extractfile(max(ends, key=len))
        return hashlib.sha256(content.read()).hexdigest() if content else ""


def report(facts: Path, folder: Path, *, clones: bool) -> bool:
    """Print the state of each collection; return whether everything is unchanged."""
    whole = True
    tables = sorted(facts.glob("*.tsv"))
    print(f"{'':12}{'ok':>8}{'missing':>10}{'changed':>10}{'unknown':>10}")
    for table in tables:
        found = list(compared(table, folder, clones=clones))
        counts = Counter(state for state, _ in found)
        states = ("ok", "missing", "changed", "unknown")
        print(
            f"{table.stem:12}" + "".join(f"{counts[s]:>{8 if s == 'ok' else 10}}" for s in states)
        )
        for state, path in found:
            if state in ("missing", "changed"):
                whole = False
                print(f"  {state}: {path}", file=sys.stderr)
    return whole and bool(tables)


def compared(table: Path, folder: Path, *, clones: bool) -> Iterator[tuple[str, Path]]:
    """Yield the state of each paper: "ok", "missing", "changed", or "unknown" without facts."""
    for row in read(table):
        if clones:
            path = folder / row["source"] / row["commit"] / row["source_path"]
            wanted = row[SOURCE_SHA256]
        else:
            path = folder / table.stem / row["file"]
            wanted = row["sha256"]
        yield (_state(path, wanted) if wanted else "unknown"), path


def _state(path: Path, wanted: str) -> str:
    if not path.is_file():
        return "missing"
    with path.open("rb") as file:
        return "ok" if hashlib.file_digest(file, "sha256").hexdigest() == wanted else "changed"


if __name__ == "__main__":
    main()
