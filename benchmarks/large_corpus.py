r"""Make a large corpus out of copies of real LaTeX papers, for `growth.py`.

    python benchmarks/large_corpus.py CORPORA FOLDER 20000

CORPORA has a folder of packed papers (.tar.gz) for each collection. The papers are shuffled once
and repeated until there are enough. The first round is the originals, so that a corpus contains
every smaller one. In each further copy, the following is changed in the .tex files:

- Words. Half of the lower-case words of at least four letters are replaced by words of similar
  frequency. Of the words that only one or two papers use, another quarter gets a suffix, so that
  the vocabulary grows. Copies then share too few runs of words to count as near-duplicates.
- Displayed equations. Latin letters, Greek letters and digits from 3 are permuted, and one letter
  in eight gets an index, so that types and shapes differ between copies.

Preambles, commands and their one-word arguments, inline mathematics, comments and equations inside
an author's own environments stay. The same papers and numbers give the same bytes.
"""

import argparse
import gzip
import io
import itertools
import random
import re
import shutil
import string
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

COLLECTIONS = ("ai", "ir", "ml", "nlp")
_ALIKE = 32  # words of similar frequency that may replace each other
_INDEXED = 1 / 8  # share of letters that get an index
_DONE = ".complete"

_DISPLAY = re.compile(
    r"\\begin\{((?:equation|align|gather|multline|eqnarray|displaymath|alignat|flalign)\*?)\}"
    r".*?\\end\{\1\}|\\\[.*?\\\]|\$\$.*?\$\$",
    re.DOTALL,
)
# What is not a word comes first: comments, file names, commands with their arguments, mathematics.
_WORDS = re.compile(
    r"((?<!\\)%.*"
    r"|\\(?:input|include)\b[^\n}]*"
    r"|\\[A-Za-z@]+\*?(?:\[[^\]\n]*\]|\{[^{}\s\\]*\})*"
    r"|\$[^$]*\$"
    r"|(?<![A-Za-z])[a-z]{4,}(?![A-Za-z]))"
)
_SYMBOLS = re.compile(
    r"((?<!\\)%.*"
    r"|\\begin\{[^{}]*\}(?:\[[^\]]*\])?(?:\{[^{}]*\})?"
    r"|\\(?:end|label|tag|ref|eqref|cite\w*|text\w*|mbox|math(?:rm|sf|tt)|operatorname\*?|[hv]space"
    r"\*?|color)\s*\{[^{}]*\}"
    r"|\\\\\*?\[[^\]]*\]|\\[A-Za-z@]+|\\."
    r"|[A-Za-z]+|[0-9]+)"
)
_GREEK = tuple(
    f"\\{name}"
    for name in "alpha beta gamma delta epsilon zeta eta theta kappa lambda mu nu xi rho sigma tau"
    " phi chi psi omega".split()
)
_KEPT_LETTERS = "d"  # of dx
Pieces = list[str]


class Text(NamedTuple):
    """A .tex file: words and what is between them, with displayed equations at odd places."""

    preamble: str
    parts: list[Pieces]


class Tables(NamedTuple):
    """What replaces words, and symbols of displayed equations, in one copy."""

    words: dict[str, str]
    letters: dict[int, str]
    commands: dict[str, str]


def find_papers(corpora: Path, collections: Iterable[str] = COLLECTIONS) -> list[Path]:
    """Return the packed papers of the collections, shuffled with a fixed seed."""
    found = [path for name in collections for path in sorted((corpora / name).glob("*.tar.gz"))]
    if not found:
        raise SystemExit(f"no .tar.gz in {', '.join(collections)} of {corpora}")
    random.Random(0).shuffle(found)
    return found


class LargeCorpus:
    """Copies of papers."""

    def __init__(self, papers: list[Path], jobs: int = 1) -> None:
        """`jobs` processes write the copies."""
        self._papers, self._jobs = papers, jobs
        self._common, self._rare = _vocabulary(papers)
        self._tables: dict[int, Tables] = {}

    def write(self, folder: Path, count: int) -> None:
        """Write the first `count` papers, unless this was done before."""
        numbers = range(-(-count // len(self._papers)))
        self._write(folder, {
            paper: [copy for copy in numbers if copy * len(self._papers) + place < count]
            for place, paper in enumerate(self._papers)
        })  # fmt: skip

    def write_new(self, folder: Path, count: int) -> None:
        """Write `count` papers that no corpus contains: one more copy of the first ones."""
        self._write(folder, {paper: [-1] for paper in self._papers[:count]})

    def _write(self, folder: Path, copies: dict[Path, list[int]]) -> None:
        if (folder / _DONE).exists():
            return
        shutil.rmtree(folder, ignore_errors=True)
        rows = list(copies.items())
        groups = [dict(rows[start :: self._jobs]) for start in range(self._jobs)]
        if self._jobs == 1:
            self.write_copies(folder, copies)
        else:
            with ProcessPoolExecutor(self._jobs) as pool:
                list(pool.map(self.write_copies, itertools.repeat(folder), groups))
        (folder / _DONE).touch()

    def write_copies(self, folder: Path, copies: dict[Path, list[int]]) -> None:
        """Write copies of some papers, by number."""
        for paper, numbers in copies.items():
            (folder / paper.parent.name).mkdir(parents=True, exist_ok=True)
            members = [(name, _split(name, data)) for name, data in _unpack(paper)]
            for copy in numbers:
                name = paper.name.removesuffix(".tar.gz")
                target = folder / paper.parent.name / f"{copy % 1000:03}-{name}.tar.gz"
                if copy == 0:
                    shutil.copyfile(paper, target)
                else:
                    target.write_bytes(self._packed_copy(name, copy, members))

    def _packed_copy(self, paper: str, copy: int, members: list[tuple[str, Text | bytes]]) -> bytes:
        tables, dice = self._table(copy), random.Random(f"{paper} {copy}")
        out = io.BytesIO()
        with (
            gzip.GzipFile(fileobj=out, mode="wb", compresslevel=1, mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            for name, content in members:
                data = _changed(content, tables, dice) if isinstance(content, Text) else content
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return out.getvalue()

    def _table(self, copy: int) -> Tables:
        if copy not in self._tables:
            dice = random.Random(copy)
            words: dict[str, str] = {}
            for start in range(0, len(self._common), _ALIKE):
                block = [w for w in self._common[start : start + _ALIKE] if dice.random() < 0.5]
                words |= dict(zip(block, dice.sample(block, len(block)), strict=True))
            suffix = _letters(copy % 1000)
            words |= {word: word + suffix for word in self._rare if dice.random() < 0.25}
            letters: dict[int, str] = {}
            for group in (string.ascii_lowercase, string.ascii_uppercase, "3456789"):
                kept = [letter for letter in group if letter not in _KEPT_LETTERS]
                letters |= str.maketrans(dict(zip(kept, dice.sample(kept, len(kept)), strict=True)))
            commands = dict(zip(_GREEK, dice.sample(_GREEK, len(_GREEK)), strict=True))
            self._tables[copy] = Tables(words, letters, commands)
        return self._tables[copy]


def _vocabulary(papers: list[Path]) -> tuple[list[str], list[str]]:
    """Return words by frequency, and those that at most two papers use."""
    total: Counter[str] = Counter()
    users: Counter[str] = Counter()
    for paper in papers:
        split = (_split(name, data) for name, data in _unpack(paper))
        parts = (part for text in split if isinstance(text, Text) for part in text.parts[::2])
        found = Counter(piece for part in parts for piece in part[1::2] if piece[0].islower())
        total.update(found)
        users.update(found.keys())
    common = sorted(total, key=lambda word: (-total[word], word))
    return common, [word for word in common if users[word] <= 2]


def _unpack(paper: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(paper) as archive:
        for member in archive:
            if (file := archive.extractfile(member)) is not None:
                yield member.name, file.read()


def _split(name: str, data: bytes) -> Text | bytes:
    """Split a .tex file; Latin-1 keeps the bytes of any encoding."""
    if not name.endswith(".tex"):
        return data
    preamble, begin, body = data.decode("latin-1").rpartition("\\begin{document}")
    parts, end = [], 0
    for match in _DISPLAY.finditer(body):
        parts += [_WORDS.split(body[end : match.start()]), _SYMBOLS.split(match[0])]
        end = match.end()
    return Text(preamble + begin, [*parts, _WORDS.split(body[end:])])


def _changed(text: Text, tables: Tables, dice: random.Random) -> bytes:
    """Return the bytes of a file's copy."""
    out = [text.preamble]
    for place, pieces in enumerate(text.parts):
        if place % 2:
            out += _changed_symbols(pieces, tables, dice)
        else:
            out += map(tables.words.get, pieces, pieces)
    return "".join(out).encode("latin-1")


def _changed_symbols(pieces: Pieces, tables: Tables, dice: random.Random) -> Iterator[str]:
    """Yield a displayed equation with other symbols; pieces at odd places are symbols."""
    for place, piece in enumerate(pieces):
        if place % 2 == 0 or piece[0] in "\\%":
            yield tables.commands.get(piece, piece)
            continue
        yield piece.translate(tables.letters)
        before, after = pieces[place - 1].rstrip()[-1:], pieces[place + 1].lstrip()[:1]
        if piece.isalpha() and before not in {"_", "^"} and after not in {"_", "^", "'"}:  # noqa: SIM102
            if dice.random() < _INDEXED:
                yield f"_{{{dice.choice(string.ascii_lowercase)}}}"


def _letters(number: int) -> str:
    """Write a number in letters."""
    return "".join(string.ascii_lowercase[int(digit)] for digit in f"{number:03}")


def main() -> None:
    """Write a corpus."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("corpora", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("count", type=int)
    given = parser.parse_args()
    LargeCorpus(find_papers(given.corpora)).write(given.folder, given.count)


if __name__ == "__main__":
    main()
