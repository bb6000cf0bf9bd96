"""The text index of a library, opened for reading: scores of words, phrases, and topics.

A stem is known by its text. Its number of equations, and so its idf, is a sum over the segments;
equations of removed articles do not count. NumPy only.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import lru_cache
from heapq import nlargest
from itertools import chain, islice, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eqemb.formula.shapes import key
from eqemb.index.acronyms import MAX_LETTERS, definitions, initials
from eqemb.index.postings import Array, hash_texts
from eqemb.index.scope import Scope, SegmentMatches
from eqemb.index.segments import IndexSegments
from eqemb.index.stemming import STOP_STEMS, stem
from eqemb.index.terms import Phrase, Term, WordForms
from eqemb.index.text import BM25_K1
from eqemb.index.text_segment import MIN_SPELLING_RATIO, TextSegment
from eqemb.storage.mapped import will_read_all

#: How much an acronym counts for the words that it stands for. Words near more equations than this
#: share of all are not acronyms.
ACRONYM_WEIGHT, MAX_ACRONYM_SHARE = 0.7, 0.1
#: What a query that is a phrase of this many words adds where the text has it as such, so that
#: "conditional random field" finds that field before conditional fields that are random.
PHRASE_WEIGHT, PHRASE_WORDS = 0.2, range(2, 5)
_MAX_ACRONYM_WORDS = 16  # words of a query in which acronyms are looked for
_MAX_ACRONYM_PLACES = 20_000  # places of a word where a large library is searched for its meaning
_MAX_JOINED = 6  # words of a phrase that are joined into compounds in every way
_MAX_NEAR = 8  # spellings that are suggested
_MAX_COUNTED, _MAX_MISSPELT = 1 << 15, 1 << 10  # stems and misspelt words that are remembered
_LONE = 0.3  # the factor of a stem that only one article has, where it counts

Scores = NDArray[np.float32]
Mask = NDArray[np.bool_]


class TextIndex:
    """The text of all segments; equations are numbered as in the library, stems are texts."""

    def __init__(self, segments: IndexSegments, folders: Sequence[Path] | None = None) -> None:
        """`folders` hold the text of each segment where that is not in the segment's index."""
        self._segments = segments
        places = [part.folder for part in segments] if folders is None else folders
        self.parts = [TextSegment(*pair) for pair in zip(segments, places, strict=True)]
        # a query asks for the same stems and spellings several times
        self.count = lru_cache(maxsize=_MAX_COUNTED)(self._count)
        self._near = lru_cache(maxsize=_MAX_MISSPELT)(self._find_near)
        self._meanings = lru_cache(maxsize=_MAX_MISSPELT)(self._find_meanings)

    # ------------------------------------------------------------ stems

    def find_stem(self, word: str) -> str | None:
        """Return the stem of a word; None where it does not occur near any equation."""
        found = stem(word)
        return found if self.count(found) else None

    def _count(self, root: str) -> int:
        """Return the number of equations that have a stem."""
        number = key(root)
        if (whole := self._segments.statistics) is not None:
            return int(whole.sizes("stems", np.array([number], np.uint64))[0])
        return sum(part.count(number) for part in self.parts)

    def _counts(self, keys: Array) -> Array:
        if (whole := self._segments.statistics) is not None:
            return whole.sizes("stems", keys)
        total = np.zeros(len(keys), np.int64)
        for part in self.parts:
            total += part.counts(part.find_stems(keys))
        return total

    def idf(self, root: str) -> float:
        """Return the inverse document frequency of a stem, where documents are equations."""
        return float(self._idf(self.count(root)))

    def idf_of(self, count: int) -> float:
        """Return the inverse document frequency of what so many equations have."""
        return float(self._idf(count))

    def _idf(self, counts: Any) -> Any:
        return np.log1p((self._segments.live_count - counts + 0.5) / (counts + 0.5))

    def idfs(self, keys: Array) -> NDArray[np.float64]:
        """Return the inverse document frequency of stems, given by their keys."""
        found: NDArray[np.float64] = self._idf(self._counts(keys))
        return found

    def vocabulary(self) -> Iterator[tuple[str, str, int]]:
        """Yield every word once, with its stem and the number of equations that have the stem."""
        seen: set[str] = set()
        for part in self.parts:
            counts = self._counts(part.stem_keys).tolist()
            stems = part.stems.lines().split("\n")
            words = part.words.lines().split("\n")
            for word, root, is_live in zip(words, part.stem_of, part.live_words, strict=False):
                if is_live and word not in seen:
                    seen.add(word)
                    yield word, stems[root], counts[root]

    def _stem_texts(self, keys: Array) -> Iterator[str]:
        """Yield the texts of stems, given by their keys; each is in one of the segments."""
        rows = [part.find_stems(keys) for part in self.parts]
        for at in range(len(keys)):
            found = ((part, int(own[at])) for part, own in zip(self.parts, rows, strict=True))
            yield next(str(part.stems[row]) for part, row in found if row >= 0)

    def word_counts(self) -> Iterator[tuple[str, str, int]]:
        """Yield words with their stems and how often they occur, for each segment in turn."""
        for part in self.parts:
            counts = np.bincount(part.tokens, minlength=len(part.stem_of)).tolist()
            stems = part.stems.lines().split("\n")
            words = part.words.lines().split("\n")
            for word, root, count in zip(words, part.stem_of, counts, strict=False):
                if count:
                    yield word, stems[root], count

    def shortest_word(self, root: str) -> str:
        """Return the shortest word that has a stem, the first in the alphabet of equals."""
        wanted = np.array([key(root)], np.uint64)
        found = [root]
        for part in self.parts:
            row = int(part.find_stems(wanted)[0])
            if row >= 0:
                found += part.words_of(row)
        return min(found[1:] or found, key=lambda word: (len(word), word))

    # ------------------------------------------------------------ queries

    def terms(self, words: Sequence[str]) -> list[Term]:
        """Return the words of a query that the library has, weighted by idf; weights sum to 1.

        A compound matches its parts in order: *kullback-leibler* matches text that writes it with a
        dash, which are two words. Likewise *cross* and *entropy*, consecutive in the query, both
        match *cross-entropy*.
        """
        forms = self.word_forms(words).items()
        every = (Term(word, 1.0, self._match_forms(each)) for word, each in forms)
        terms = [term for term in every if len(term)]
        idfs = [float(self._idf(len(term))) for term in terms]
        total = sum(idfs)
        return [replace(term, weight=idf / total) for term, idf in zip(terms, idfs, strict=True)]

    def word_forms(self, words: Sequence[str]) -> dict[str, WordForms]:
        """Return how the library may write each word of a query that it has."""
        ways: dict[str, dict[Phrase, None]] = {}  # the spellings of each stem of the query
        typed: dict[str, str] = {}
        for at, word in enumerate(words):
            found = self.spellings((word,))
            for pair in words[max(at - 1, 0) : at + 1], words[at : at + 2]:
                if len(pair) == 2 and (root := self.find_stem("-".join(pair))) is not None:
                    found.append((root,))
            if found:
                found += self._definitions(word)
                ways.setdefault(stem(word), {}).update(dict.fromkeys(found))
                typed.setdefault(stem(word), word)
        acronyms = self._acronyms(words)
        return {
            typed[root]: WordForms(tuple(found), acronyms.get(root)) for root, found in ways.items()
        }

    def owner_counts(self, forms: Mapping[str, WordForms]) -> dict[str, int]:
        """Return how many equations have each word, given its forms, without words of none."""
        counts = {word: self._owner_count(each) for word, each in forms.items()}
        return {word: count for word, count in counts.items() if count}

    def _owner_count(self, forms: WordForms) -> int:
        if len(forms.phrases) == 1 and len(forms.phrases[0]) == 1 and forms.acronym is None:
            return self.count(forms.phrases[0][0])  # without reading postings
        return len(Term("", 1.0, self._match_forms(forms)))

    def _match_forms(self, forms: WordForms) -> list[list[SegmentMatches]]:
        """Return the equations that have a word, by each of its forms, and the impacts."""
        matches = [self._match(way) for way in forms.phrases]
        if forms.acronym is not None:
            matches.append(
                [
                    part._replace(impacts=np.float32(ACRONYM_WEIGHT) * part.impacts, row=-1)
                    for part in self._match((forms.acronym,))
                ]
            )
        return matches

    def _definitions(self, word: str) -> list[Phrase]:
        """Return what an acronym stands for; a word near many equations is none."""
        is_rare = self.count(stem(word)) <= MAX_ACRONYM_SHARE * self._segments.live_count
        return self._meanings(word) if is_rare else []

    def _find_meanings(self, word: str) -> list[Phrase]:
        most = _MAX_ACRONYM_PLACES // len(self.parts) if self._segments.is_large else None
        return definitions(self.parts, word, most)

    def _acronyms(self, words: Sequence[str]) -> dict[str, str]:
        """Return the acronym of each stem of a query that is in a phrase with one."""
        found: dict[str, str] = {}
        for first in range(len(words) if len(words) <= _MAX_ACRONYM_WORDS else 0):
            for end in range(first + 2, min(len(words), first + MAX_LETTERS) + 1):
                phrase = tuple(map(stem, words[first:end]))
                short = "".join(map(initials, words[first:end]))
                # one with two meanings would find both
                if self._definitions(short) == [phrase]:
                    found |= dict.fromkeys(phrase, stem(short))
        return found

    def spellings(self, phrase: Sequence[str]) -> list[Phrase]:
        """Return the ways to spell a phrase, or a word, with neighbours joined into compounds.

        Only spellings whose words the library has, as stems; the phrase as given comes first. A
        long phrase is joined as a whole or not at all.
        """
        if len(phrase) == 1 and "-" not in phrase[0]:
            root = self.find_stem(phrase[0])
            return [] if root is None else [(root,)]
        parts = [part for word in phrase for part in word.split("-")]
        ways = {tuple(phrase): None, tuple(parts): None, ("-".join(parts),): None}
        if len(parts) <= _MAX_JOINED:
            for marks in product(" -", repeat=len(parts) - 1):
                text = "".join(chain(*zip(parts, [*marks, ""], strict=True)))
                ways[tuple(text.split())] = None
        roots = ([self.find_stem(word) for word in way] for way in ways)
        known = (
            tuple(root for root in way if root is not None) for way in roots if None not in way
        )
        return list(dict.fromkeys(known))

    def _match(self, phrase: Phrase) -> list[SegmentMatches]:
        """Return the equations that have a stem, or consecutive stems, and the impacts."""
        keys = np.array([key(root) for root in phrase], np.uint64)
        made = []
        for part in self.parts:
            rows = part.find_stems(keys).tolist()
            first, row = part.segment.first_equation, rows[0] if part.segment.live is None else -1
            if len(rows) == 1:
                made.append(SegmentMatches(first, *part.postings(rows[0]), row))
            else:
                made.append(SegmentMatches(first, *part.match_phrase(rows)))
        return made

    def _all(self) -> Scope:
        return Scope(self._segments.equation_count)

    def score_terms(self, terms: Iterable[Term], scope: Scope | None = None) -> Scores:
        """Return the score of every equation for weighted terms; 1 is the limit."""
        scope = scope or self._all()
        total = np.zeros(len(scope), np.float32)
        terms = list(terms)
        if scope.rows is not None:
            ways = chain.from_iterable(chain.from_iterable(term.ways) for term in terms)
            will_read_all(*(part.owners for part in ways))
        for term in terms:
            for places, impacts in term.find(scope):
                np.add.at(total, places, np.float32(term.weight / (BM25_K1 + 1)) * impacts)
        return total

    def score_words(
        self, words: Sequence[str], terms: Sequence[Term], scope: Scope | None = None
    ) -> Scores:
        """Return the score of every equation for the words of a query, whose terms are given."""
        scope = scope or self._all()
        total = self.score_terms(terms, scope)
        if (phrase := self.phrase_term(words, scope)) is not None:
            for places, impacts in phrase.find(scope):
                added = np.float32(phrase.weight / (BM25_K1 + 1)) * impacts
                total[places] = np.minimum(total[places] + added, 1)
        return total

    def phrase_term(self, words: Sequence[str], scope: Scope | None = None) -> Term | None:
        """Return the words of a query as one phrase; None if the library does not have it.

        With a scope that is a selection, only its equations are looked at.
        """
        if len(words) not in PHRASE_WORDS or not (ways := self.spellings(words)):
            return None
        rows = None if scope is None else scope.rows
        found = [
            self._match(way) if rows is None else self._match_within(way, rows) for way in ways
        ]
        term = Term(" ".join(words), PHRASE_WEIGHT, found)
        return term if len(term) else None

    def _match_within(self, phrase: Phrase, rows: Array) -> list[SegmentMatches]:
        """Return those of some equations that have consecutive stems, and the impacts."""
        keys = np.array([key(root) for root in phrase], np.uint64)
        made = []
        for part in self.parts:
            first = part.segment.first_equation
            low, high = np.searchsorted(rows, [first, first + len(part.segment)])
            stems = part.find_stems(keys).tolist()
            made.append(
                SegmentMatches(first, *part.match_phrase_within(stems, rows[low:high] - first))
            )
        return made

    def coverage(self, terms: Iterable[Term], scope: Scope | None = None) -> Scores:
        """Return the share of weighted terms that every equation has near it."""
        scope = scope or self._all()
        total = np.zeros(len(scope), np.float32)
        for term in terms:
            for places, _ in term.find(scope):
                np.add.at(total, places, np.float32(term.weight))
        return total

    def known_share(self, terms: Sequence[Term], unknown: int) -> float:
        """Return the share of a query's words that the library has, weighted by idf.

        `terms` are those that it has; an unknown word counts as one that no equation has.
        """
        known = sum(float(self._idf(len(term))) for term in terms)
        return known / (known + unknown * float(self._idf(0))) if terms else 0.0

    def stem_terms(self, weights: Mapping[str, float]) -> list[Term]:
        """Return weighted stems as terms."""
        return [Term(root, weight, [self._match((root,))]) for root, weight in weights.items()]

    def score_stems(self, weights: Mapping[str, float], scope: Scope | None = None) -> Scores:
        """Return the score of every equation for weighted stems."""
        return self.score_terms(self.stem_terms(weights), scope)

    def stem_score(self, root: str, equation: int) -> float:
        """Return the score of one equation for one stem."""
        part, own = self._locate(equation)
        row = int(part.find_stems(np.array([key(root)], np.uint64))[0])
        return part.impact(row, own) / (BM25_K1 + 1)

    def has_phrase(self, phrase: Sequence[str]) -> Mask:
        """Return a mask of the equations with a phrase, or a word, near them in any spelling."""
        found = np.zeros(self._segments.equation_count, bool)
        if ways := self.spellings(phrase):
            for part in chain.from_iterable(map(self._match, ways)):
                found[part.owners + part.first] = True
        return found

    def suggest_spellings(self, word: str, count: int = 3) -> list[str]:
        """Return words of the library with a similar spelling and the same first letter."""
        if count > _MAX_NEAR:
            raise ValueError(f"at most {_MAX_NEAR} spellings are suggested, not {count}")
        return self._near(word.lower())[:count]

    def _find_near(self, word: str) -> list[str]:
        """Return the words of the library with the most similar spellings, the nearest first."""
        likely: dict[str, int] = {}
        for part in self.parts:
            likely |= part.spelt_like(word)
        words = sorted(likely)
        counts = self._counts(np.array([likely[each] for each in words], np.uint64)).tolist()
        matcher = SequenceMatcher(b=word)
        found: list[tuple[float, str]] = []
        for each, count in zip(words, counts, strict=True):
            if count:
                matcher.set_seq1(each)
                if (ratio := matcher.ratio()) >= MIN_SPELLING_RATIO:
                    found.append((ratio, each))
        return [each for _, each in nlargest(_MAX_NEAR, found)]

    # ------------------------------------------------------------ equations

    def _locate(self, equation: int) -> tuple[TextSegment, int]:
        segment, own = self._segments.of_equation(equation)
        return self.parts[segment.number], own

    def topic(
        self,
        equations: Sequence[int],
        trust: Sequence[float],
        count: int,
        groups: Sequence[int] | None = None,
        *,
        keep_lone: bool = False,
    ) -> dict[str, float]:
        """Return the stems that describe several equations best; weights sum to 1.

        A stem counts once for each article, by the article's best equation. Given two or more
        articles, a stem that only one of them has is ignored: it is a habit of the author. With
        `keep_lone` it counts a little, times the trust in that article. `groups` names the group of
        each equation where that is not its article (near-duplicates).
        """
        if not equations:
            return {}
        if groups is None:
            groups = self._segments.articles[list(equations)].tolist()
        every, group_of = np.unique(groups, return_inverse=True)
        keys, weights = [], []
        for part in self.parts:
            rows = np.asarray(equations) - part.segment.first_equation
            part.forward.will_read(rows[(rows >= 0) & (rows < len(part.segment))])
        for equation in equations:
            part, own = self._locate(equation)
            rows, impacts = part.forward.of(own)
            keys.append(part.stem_keys[rows])
            weights.append(impacts)
        sizes = [len(found) for found in keys]
        stems, stem_of = np.unique(np.concatenate(keys), return_inverse=True)
        # the best of each article for a stem, then the sum over articles
        codes = stem_of.astype(np.int64) * len(every) + np.repeat(group_of, sizes)
        codes, where = np.unique(codes, return_inverse=True)
        by_group = np.zeros(len(codes))
        np.maximum.at(by_group, where, np.repeat(trust, sizes) * np.concatenate(weights))
        owner = codes // len(every)
        totals = np.bincount(owner, by_group, minlength=len(stems)) * self.idfs(stems)
        lone = np.bincount(owner, minlength=len(stems)) < min(2, len(every))
        best = np.zeros(len(every))
        if keep_lone:
            np.maximum.at(best, group_of, np.multiply(trust, _LONE))
        totals[lone] *= best[codes % len(every)][np.searchsorted(owner, np.flatnonzero(lone))]
        order = np.lexsort((stems, -totals))
        order = order[totals[order] > 0]
        texts = zip(order.tolist(), self._stem_texts(stems[order]), strict=True)
        chosen = dict(islice(((at, text) for at, text in texts if _is_telling(text)), count))
        total = totals[list(chosen)].sum()
        return {text: float(totals[at] / total) for at, text in chosen.items()}

    def words_near(
        self, equations: Iterable[int], reach: int, stems: Iterable[str]
    ) -> Iterator[list[tuple[str, str]]]:
        """Yield for each equation the words within reach that have one of the stems, with it."""
        keys = hash_texts(stems)
        wanted = {}
        for equation in equations:
            part, own = self._locate(equation)
            number = part.segment.number
            if number not in wanted:
                wanted[number] = np.zeros(len(part.stem_keys) + 1, bool)
                wanted[number][part.find_stems(keys)] = True
                wanted[number][-1] = False  # of stems that the segment does not have
            ids = part.words_around(own, reach)[0]
            ids = ids[wanted[number][part.stem_of[ids]]]
            names = part.words, part.stems
            yield [(names[0][row], names[1][int(part.stem_of[row])]) for row in ids.tolist()]

    def words_around(self, equation: int, reach: int) -> list[tuple[str, str, int]]:
        """Return the words within reach of an equation in order: word, stem and distance."""
        part, own = self._locate(equation)
        ids, distances = part.words_around(own, reach)
        names = {
            row: (part.words[row], part.stems[int(part.stem_of[row])]) for row in set(ids.tolist())
        }
        pairs = zip(ids.tolist(), distances.tolist(), strict=True)
        return [(*names[row], distance) for row, distance in pairs]


def _is_telling(root: str) -> bool:
    """Whether a stem is worth showing: no stop word, no number, longer than two letters."""
    return len(root) > 2 and root not in STOP_STEMS and any(map(str.isalpha, root))
