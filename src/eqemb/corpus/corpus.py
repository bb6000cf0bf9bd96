"""A corpus: a collection as arrays of word ids, with equations and their units.

Built from any iterable of articles: `Article` objects, or tuples (name, collection, stream), where
the stream yields words as written and equations (`Equation` or `EquationToken`) in reading order.
Saved as a folder:

    corpus.json         format, settings, how the vocabulary was chosen, articles, sha256
    arrays.safetensors  flat ids and pointers, mapped into memory
    words.txt           the vocabulary, most frequent first
    equations.json      canonical forms of types, names of occurrences, units
"""

import reprlib
import tempfile
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from eqemb.article import Article, Equation
from eqemb.checks import check_choice
from eqemb.corpus import phrases, vocabulary
from eqemb.corpus.phrases import PhrasePairs
from eqemb.corpus.vocabulary import Mask, Removed, Rules
from eqemb.errors import EqembError, UsageError
from eqemb.formula import layout
from eqemb.storage import array_file, atomic
from eqemb.storage.checksums import seal

CORPUS_FORMAT = "corpus"
CORPUS_VERSION = 1
_TOKENS_AT_A_TIME = 1 << 22  # words counted at a time
Ids = NDArray[np.int32]
Pointers = NDArray[np.int64]


class EquationToken(NamedTuple):
    """An equation in a stream of words."""

    form: str
    """The canonical form. Occurrences with the same form have the same type."""
    units: list[str] = []  # noqa: RUF012  (never changed)
    name: str = ""
    """ARTICLE#n; derived from the article's name if empty."""
    numbered: bool | None = True

    @classmethod
    def of(cls, equation: Equation) -> Self:
        """The token of an equation of an `Article`, with the form and units a library stores."""
        shape = layout(equation.expanded)
        units = ["\t".join(unit) for unit in shape.units()]
        return cls(shape.canonical(), units, equation.id, equation.numbered)


#: Words as written, and equations, in reading order.
TokenStream = Iterable[str | EquationToken | Equation]
#: An article, or its name, its collection and its stream.
ArticleSource = Article | tuple[str, str, TokenStream]


@dataclass(repr=False)
class Corpus:
    """Words, equations and units of a collection."""

    words: list[str]
    tokens: Ids  # [P], ids of words
    starts: Pointers  # [articles + 1], into tokens
    articles: list[str]
    collections: list[str]
    """Of each article."""
    equation_positions: Pointers  # [O]: before this token, or at the end of its article
    equation_types: Ids  # [O]
    equation_starts: Pointers  # [articles + 1], into occurrences
    equation_names: list[str]
    forms: list[str]
    """Canonical form of each type, in order of first occurrence."""
    units: list[str]
    unit_ids: Ids
    unit_starts: Pointers  # [types + 1], into unit_ids
    settings: dict[str, Any] = field(default_factory=dict)
    table: list[Removed] = field(default_factory=list)
    left_out: int = 0
    """Near-duplicate articles that were left out."""

    def __repr__(self) -> str:
        sizes = f"{len(self.articles):,} articles, {len(self.tokens):,} tokens of"
        return f"<Corpus: {sizes} {len(self.words):,} words, {len(self.forms):,} equation types>"

    @classmethod
    def build(
        cls,
        articles: Iterable[ArticleSource],
        rules: Rules | None = None,
        *,
        numbering: str = "display",
        leave_out: Collection[str] = frozenset(),
    ) -> Self:
        """Read articles once and choose the vocabulary.

        Until it is chosen words are spooled to a temporary file (in TMPDIR), so that memory grows
        with the vocabulary and the equations, not with the text.

        Args:
            articles: `Article` objects, or tuples (name, collection, stream).
            rules: How the vocabulary is chosen.
            numbering: "display" for all equations, "numbered" for those with a number.
            leave_out: Names of articles to leave out.

        Example:
            Corpus.build(eqemb.read_articles("papers"), Rules(min_count=5))

        """
        check_choice("numbering", numbering, ("display", "numbered"))
        rules = rules or Rules()
        skipped, table = 0, []
        tag = vocabulary.paper_tagger(rules.tagger) if rules.kind == "paper" else None
        with tempfile.TemporaryFile() as spool, tempfile.TemporaryFile() as other:
            raw = _Raw(rules.kind, spool)
            for name, collection, stream in map(_parts, articles):
                if name in leave_out:
                    skipped += 1
                else:
                    raw.add(name, collection, stream, numbering)
            raw.count()
            nouns = raw.nouns(rules, tag) if tag else None
            if rules.phrases:
                pairs = raw.pairs(rules, nouns)
                table = [Removed("pairs joined", len(pairs.keys), raw.join(pairs, other))]
                if nouns is not None:  # a pair of nouns and adjectives counts as a noun
                    nouns = np.r_[nouns, np.ones(len(raw.ids) - len(nouns), bool)]
            choice = vocabulary.choose(raw.words, raw.counts, raw.capital_counts(), rules, nouns)
            new = np.full(len(raw.ids), -1, np.int32)
            new[choice.kept] = np.arange(len(choice.kept), dtype=np.int32)
            spelt = raw.words
            words = [spelt[index] for index in choice.kept.tolist()]
            made = cls(
                words=words, **raw.arrays(new), **raw.equations(), table=table + choice.table
            )
        made.left_out = skipped
        made.settings = rules.as_dict() | {
            "numbering": numbering,
            "min_count": choice.min_count,
            "top": choice.top,
        }
        return made

    def encode(self, articles: Iterable[ArticleSource]) -> Self:
        """Encode other articles with the vocabulary of this corpus, to fold them into a model.

        Types and units of this corpus keep their numbers, new ones follow. If this corpus joined
        pairs of words, the pairs in its vocabulary are joined.
        """
        with tempfile.TemporaryFile() as spool, tempfile.TemporaryFile() as other:
            raw = _Raw(self.settings["kind"], spool)
            raw.forms = {form: index for index, form in enumerate(self.forms)}
            raw.units = {unit: index for index, unit in enumerate(self.units)}
            raw.bags.extend(self.unit_ids.tolist())
            raw.sizes.extend(np.diff(self.unit_starts).tolist())
            for name, collection, stream in map(_parts, articles):
                raw.add(name, collection, stream, self.settings["numbering"])
            known = {word: index for index, word in enumerate(self.words)}
            raw.count()
            if self.settings.get("phrases"):
                raw.join(raw.pairs_among(self.words), other)
            new = np.array([known.get(word, -1) for word in raw.ids], np.int32)
            made = self.__class__(
                words=self.words, **raw.arrays(new), **raw.equations(by_frequency=False)
            )
        made.settings, made.table = self.settings, self.table
        return made

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that are saved."""
        return {
            "tokens": self.tokens,
            "starts": self.starts,
            "equation_positions": self.equation_positions,
            "equation_types": self.equation_types,
            "equation_starts": self.equation_starts,
            "unit_ids": self.unit_ids,
            "unit_starts": self.unit_starts,
        }

    @property
    def counts(self) -> Pointers:
        """How often each word occurs."""
        total = np.zeros(len(self.words), np.int64)
        for low in range(
            0, len(self.tokens), _TOKENS_AT_A_TIME
        ):  # bincount converts ids to 8 bytes
            total += np.bincount(self.tokens[low : low + _TOKENS_AT_A_TIME], minlength=len(total))
        return total

    @property
    def equation_articles(self) -> Pointers:
        """The article of each occurrence."""
        return np.repeat(np.arange(len(self.articles)), np.diff(self.equation_starts))

    def _described(self) -> dict[str, Any]:
        return {
            "format": f"eqemb {CORPUS_FORMAT}",
            "version": CORPUS_VERSION,
            "settings": self.settings,
            "table": [list(row) for row in self.table],
            "left_out": self.left_out,
            "articles": self.articles,
            "collections": self.collections,
        }

    def _equations(self) -> dict[str, list[str]]:
        return {"forms": self.forms, "names": self.equation_names, "units": self.units}

    @property
    def sha256(self) -> str:
        """The hash of everything that training can see."""
        opened: str = self.__dict__.get("_verified", "")  # a corpus that was loaded does not change
        if opened:
            return opened
        described = self._described() | self._equations() | {"words": self.words}
        return array_file.content_hash(described, self.arrays)

    def save(self, path: Path, *, replace: bool = False) -> None:
        """Write the folder atomically."""
        with atomic.new_folder(path, replace=replace) as folder:
            array_file.write_arrays(folder / "arrays.safetensors", self.arrays)
            (folder / "words.txt").write_text("\n".join([*self.words, ""]), encoding="utf-8")
            atomic.write_json(folder / "equations.json", self._equations())
            atomic.write_json(folder / "corpus.json", self._described() | {"sha256": self.sha256})
            seal(folder)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Open a folder; its arrays stay on disk until they are used."""
        path = atomic.find_folder(path)
        described = atomic.read_json(path / "corpus.json", CORPUS_FORMAT, CORPUS_VERSION)
        equations = atomic.load_json(path / "equations.json")
        made = cls(
            words=(path / "words.txt").read_text("utf-8").split("\n")[:-1],
            articles=described["articles"],
            collections=described["collections"],
            equation_names=equations["names"],
            forms=equations["forms"],
            units=equations["units"],
            settings=described["settings"],
            table=[Removed(*row) for row in described["table"]],
            left_out=described["left_out"],
            **array_file.map_arrays(path / "arrays.safetensors"),
        )
        if made.sha256 != described["sha256"]:
            raise EqembError(f"{path} is damaged: remove it, and it is built again")
        made.__dict__["_verified"] = described["sha256"]
        return made


class _WrittenWords(dict[str, int]):
    """Words as written, numbered in order; a new one is added, and its lower case to `ids`."""

    def __init__(self, ids: dict[str, int], lower: "array[int]") -> None:
        self._ids, self._lower = ids, lower

    def __missing__(self, word: str) -> int:
        number = self[word] = len(self)
        self._lower.append(self._ids.setdefault(word.lower(), len(self._ids)))
        return number


class _Raw:
    """Everything that was read, before the vocabulary is chosen.

    The spool has the text as ids of words as written, which the tagger needs. `lower` maps them to
    ids of lower-cased words, which everything else uses.
    """

    def __init__(self, kind: str, spool: IO[bytes]) -> None:
        self.tokenize = vocabulary.paper_tokenizer() if kind == "paper" else None
        self.spool = spool
        self.lengths: list[int] = []  # of articles, in words
        self.ids: dict[str, int] = {}
        self.lower = array("i")  # written -> id
        self.written = _WrittenWords(self.ids, self.lower)
        self.names: list[str] = []
        self.collections: list[str] = []
        self.positions: list[Pointers] = []  # of equations, among an article's words
        self.types = array("i")  # of occurrences
        self.occurrences: list[str] = []  # their names
        self.forms: dict[str, int] = {}
        self.units: dict[str, int] = {}
        self.bags = array("i")  # units of all types, one type after the other
        self.sizes = array("i")  # of the bags

    @property
    def words(self) -> list[str]:
        return list(self.ids)

    def add(self, name: str, collection: str, stream: TokenStream, numbering: str) -> None:
        """Add an article."""
        text, pending, positions = array("i"), list[str](), array("q")
        known, ordinal = self.written.__getitem__, 0
        for item in stream:
            if isinstance(item, str):
                pending.append(item)
                continue
            ordinal += 1
            equation = EquationToken.of(item) if isinstance(item, Equation) else item
            if numbering == "display" or equation.numbered is not False:
                text.extend(map(known, self._tokens(pending)))
                pending = []
                positions.append(len(text))
                self._equation(equation, equation.name or f"{name}#{ordinal}")
        text.extend(map(known, self._tokens(pending)))
        self.spool.write(text)
        self.lengths.append(len(text))
        self.names.append(name)
        self.collections.append(collection)
        self.positions.append(np.array(positions, np.int64))

    def _tokens(self, words: list[str]) -> list[str]:
        return self.tokenize(" ".join(words)) if self.tokenize and words else words

    def _equation(self, formula: EquationToken, name: str) -> None:
        type_ = self.forms.setdefault(formula.form, len(self.forms))
        if type_ == len(self.sizes):
            self.bags.extend(self.units.setdefault(u, len(self.units)) for u in formula.units)
            self.sizes.append(len(formula.units))
        self.types.append(type_)
        self.occurrences.append(name)

    def texts(self) -> Iterator[Ids]:
        """Each article's words as written, read back from the spool."""
        self.spool.seek(0)
        for length in self.lengths:
            yield np.frombuffer(self.spool.read(4 * length), np.int32)

    def count(self) -> None:
        """How often each word occurs, as written and lower-cased."""
        self.lower_ids = np.array(self.lower, np.int32)
        self.written_counts = np.zeros(len(self.written), np.int64)
        for text in self.texts():  # bincount would allocate the vocabulary for each article
            np.add.at(self.written_counts, text, 1)
        self.counts = np.zeros(len(self.ids), np.int64)
        np.add.at(self.counts, self.lower_ids, self.written_counts)

    def capital_counts(self) -> Pointers:
        """How often each word of three letters is written in capitals."""
        found = np.zeros(len(self.ids), np.int64)
        capital = [
            index for word, index in self.written.items() if len(word) == 3 and word.isupper()
        ]
        np.add.at(found, self.lower_ids[capital], self.written_counts[capital])
        return found

    def nouns(self, rules: Rules, tag: Callable[[list[str]], list[str]]) -> Mask:
        """Nouns and adjectives by the tagger, which tags only words that no other rule removes."""
        few = 2 if rules.min_count == "auto" else int(rules.min_count)
        least = 1 if rules.phrases else min(3, rules.min_length)
        long = np.array([len(word) >= least for word in self.words], bool)
        wanted = long & ((self.counts >= few) | (self.capital_counts() > 0))
        words = list(self.written)
        runs = (([words[i] for i in text.tolist()], self.lower_ids[text]) for text in self.texts())
        return vocabulary.nouns_and_adjectives(runs, wanted, tag, rules)

    def pairs(self, rules: Rules, nouns: Mask | None) -> PhrasePairs:
        """Frequent pairs of words that pass the rules on letters, tags and stop words."""
        words = self.words
        parts = vocabulary.lettered(words) & ~vocabulary.stopped(words, rules)
        parts &= True if nouns is None else nouns
        least = rules.least(int(self.counts[parts].sum()))

        def texts() -> Iterator[tuple[Ids, Pointers]]:
            for text, breaks in zip(self.texts(), self.positions, strict=True):
                yield self.lower_ids[text], breaks

        return phrases.find(texts, self.counts, parts, least, rules.phrase_threshold)

    def pairs_among(self, known: Iterable[str]) -> PhrasePairs:
        """The pairs that are joined in these words."""
        cuts = ((word, at) for word in known for at, letter in enumerate(word) if letter == "_")
        found = [(self.ids.get(word[:at]), self.ids.get(word[at + 1 :])) for word, at in cuts]
        size = len(self.ids)
        keys = [one * size + other for one, other in found if one is not None and other is not None]
        return PhrasePairs(np.array(sorted(keys), np.int64), np.ones(size, bool))

    def join(self, pairs: PhrasePairs, spool: IO[bytes]) -> int:
        """Join pairs, writing the text to another spool; how many were joined."""
        words, total = self.words, 0
        made = [self.written[f"{words[one]}_{words[other]}"] for one, other in pairs.words]
        new, lengths, places = np.array(made, np.int32), [], []
        for read, breaks in zip(self.texts(), self.positions, strict=True):
            first, which = phrases.joined(self.lower_ids[read], breaks, pairs)
            text, kept = read.copy(), np.ones(len(read), bool)
            text[first] = new[which]
            kept[first + 1] = False
            spool.write(text[kept].data)
            lengths.append(int(kept.sum()))
            places.append(np.r_[0, np.cumsum(kept)][breaks])
            total += len(first)
        self.spool, self.lengths, self.positions = spool, lengths, places
        self.count()
        return total

    def arrays(self, new: Ids) -> dict[str, Any]:
        """Tokens and positions of equations, given the new id of each word, -1 if it is removed."""
        starts, places = [0], [np.empty(0, np.int64)]
        with tempfile.TemporaryFile() as file:
            for text, positions in zip(self.texts(), self.positions, strict=True):
                ids = new[self.lower_ids[text]]
                before = np.r_[0, np.cumsum(ids >= 0)]
                places.append(starts[-1] + before[positions])
                file.write(ids[ids >= 0].data)
                starts.append(starts[-1] + int(before[-1]))
            tokens = _mapped(file)
        return {
            "tokens": tokens,
            "starts": np.array(starts, np.int64),
            "articles": self.names,
            "collections": self.collections,
            "equation_positions": np.concatenate(places),
            "equation_starts": np.cumsum([0, *map(len, self.positions)]).astype(np.int64),
        }

    def equations(self, *, by_frequency: bool = True) -> dict[str, Any]:
        """Types, names and units; units are numbered by frequency, or in order of occurrence."""
        types, bags = np.array(self.types, np.int32), np.array(self.bags, np.int32)
        sizes = np.array(self.sizes, np.int64)
        often = np.bincount(types, minlength=len(sizes))
        counts = np.zeros(len(self.units), np.int64)
        np.add.at(counts, bags, np.repeat(often, sizes))
        units = list(self.units)
        if by_frequency:
            units.sort(key=lambda unit: (-int(counts[self.units[unit]]), unit))
        new = np.empty(len(units), np.int32)
        new[[self.units[unit] for unit in units]] = np.arange(len(units), dtype=np.int32)
        return {
            "equation_types": types,
            "equation_names": self.occurrences,
            "forms": list(self.forms),
            "units": units,
            "unit_ids": new[bags],
            "unit_starts": np.cumsum(np.r_[0, sizes]).astype(np.int64),
        }


def _mapped(file: IO[bytes]) -> Ids:
    """The ids in a temporary file, mapped into memory, which keeps the file alive."""
    file.flush()
    return np.asarray(np.memmap(file, np.int32, "r")) if file.tell() else np.empty(0, np.int32)


def _parts(article: ArticleSource) -> tuple[str, str, TokenStream]:
    """Name, collection and stream of an article."""
    if isinstance(article, Article):
        return article.name, article.collection, article.stream()
    match article:
        case str(name), str(collection), stream if _is_stream(stream):
            return name, collection, stream
    raise UsageError(
        "articles must be Article objects or tuples (name, collection, stream), not"
        f" {reprlib.repr(article)}"
    )


def _is_stream(stream: object) -> bool:
    return isinstance(stream, Iterable) and not isinstance(stream, str)
