r"""Find the formulas in a query: between dollars and brackets, and those typed without any.

A text without delimiters is split at blanks. Each chunk is a word, a piece of mathematics, or
neither by itself (a single letter, a number, `log`, `=`). A formula is a run of chunks that are not
words, of which at least one is mathematics, or that has the form of an equation: `a + b = c`.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal, NamedTuple

from eqemb.corpus.vocabulary import STOP_WORDS
from eqemb.formula.commands import ENVIRONMENTS
from eqemb.formula.unicode_signs import GREEK_NAMES, LOWERED, RAISED, SPELT_NAMES

QueryPieceKind = Literal["text", "formula", "phrase", "excluded"]
Kind = Literal["word", "short", "letter", "name", "operator", "mark", "math"]


class QueryPiece(NamedTuple):
    """A part of a query."""

    kind: QueryPieceKind
    text: str
    repair: str = ""


#: Environments that are displays; others are parts of formulas.
_DISPLAYS = frozenset(
    name for name, (_, _, _, kind) in ENVIRONMENTS.items() if kind == "rows"
) - frozenset("aligned split gathered multlined alignedat minipage center small".split())
_OPENER = re.compile(
    r"\\\\|\\\$|\\[{}]|(?P<brace>[{}])|(?P<dollar>\$\$?)|\\(?P<bracket>[\[(])"
    r"|\\begin\s*\{(?P<display>[a-zA-Z]+\*?)\}|(?P<end>\\end(?![a-zA-Z]))"
)
_QUOTED_PHRASE = re.compile(r'(?<!\S)(-?)"([^"]*)"')
_CHUNK_SIGN = re.compile(r"\\(?:begin|end)(?![a-zA-Z])|\\.|[{}]|\s+", re.DOTALL)


def split_query(text: str) -> Iterator[QueryPiece]:
    """Yield the parts of a query in order."""
    for piece in _delimited(text):
        if piece.kind == "formula":
            yield piece
            continue
        done = 0
        for found in _QUOTED_PHRASE.finditer(piece.text):
            if is_math(found[2]):
                continue
            yield from _bare(piece.text[done : found.start()])
            yield QueryPiece("excluded" if found[1] else "phrase", found[2])
            done = found.end()
        yield from _bare(piece.text[done:])


def is_math(text: str) -> bool:
    """Whether a text has mathematics that needs no delimiter."""
    return any(kind_of(chunk) == "math" for chunk in text.split())


# ------------------------------------------------------------ with delimiters


def _delimited(text: str) -> Iterator[QueryPiece]:
    """Split at dollars, at brackets with a backslash and at displays."""
    done = at = depth = 0
    while (found := _OPENER.search(text, at)) is not None:
        at = found.end()
        display = found["display"]
        if found["brace"] or found["end"] or (display and display not in _DISPLAYS):
            depth = max(0, depth + (1 if found["brace"] == "{" or display else -1))
            continue
        delimiter = found["dollar"] or found["bracket"] or display
        if not delimiter or depth:
            continue
        closer = {"(": r"\)", "[": r"\]"}.get(delimiter, delimiter)
        if display:
            closer = f"\\end{{{display}}}"
        end = text.find(closer, at)
        is_closed = end >= 0
        content = text[at : end if is_closed else len(text)]
        if _is_price(content, found["dollar"], is_closed=is_closed):
            continue
        if text[done : found.start()].strip():
            yield QueryPiece("text", text[done : found.start()])
        if display and is_closed:
            content = text[found.start() : end + len(closer)]
        yield QueryPiece("formula", content, "" if is_closed else f"closed {found[0]}")
        done = at = end + len(closer) if is_closed else len(text)
    if text[done:].strip():
        yield QueryPiece("text", text[done:])


def _is_price(content: str, dollar: str | None, *, is_closed: bool) -> bool:
    """Whether a dollar is no delimiter: `$5`, or a dollar at the end."""
    if dollar is None or is_closed:
        return False
    return not content.strip() or re.match(r"\d[\d.,]*(?:\s|\Z)", content) is not None


# ------------------------------------------------------------ without delimiters


class _Chunk(NamedTuple):
    kind: Kind
    start: int
    end: int
    text: str


def _bare(text: str) -> Iterator[QueryPiece]:
    """Split text without delimiters into formulas and the rest."""
    chunks = _absorb_words(_chunks(text))
    if "\\" in text and _is_all_latex(chunks):
        yield QueryPiece("formula", text)
        return
    whole = all(chunk.kind in ("letter", "name", "operator", "mark") for chunk in chunks)
    done, at = 0, 0
    while at < len(chunks):
        end = at
        while end < len(chunks) and chunks[end].kind != "word":
            end += 1
        run = _trimmed(chunks[at:end], after_word=at > 0)
        if run and _is_formula(run, whole=whole):
            yield from _words(text[done : run[0].start])
            formula = text[run[0].start : run[-1].end]
            yield QueryPiece("formula", _LAST_MARKS.sub("", formula))
            done = run[-1].end
        at = end + 1
    yield from _words(text[done:])


#: Punctuation at the end, but not that of a command such as `\,`.
_LAST_MARKS = re.compile(r"(?:(?<![\\,.;:!?])|(?<=\\[,.;:!?]))[,.;:!?]++\Z")
#: A word of a sentence, perhaps with punctuation.
_QUERY_WORD = re.compile(r"[\"'(]*[^\W\d_]{2,}(?:['-][^\W\d_]+)*[.,;:!?)\"']*")


def _is_all_latex(chunks: list[_Chunk]) -> bool:
    """Whether a text has LaTeX and no word: odd signs in it do not split it."""
    has_latex = any(chunk.kind == "math" and "\\" in chunk.text for chunk in chunks)
    words = (chunk for chunk in chunks if chunk.kind == "word")
    return has_latex and not any(_QUERY_WORD.fullmatch(word.text) for word in words)


def _words(text: str) -> Iterator[QueryPiece]:
    """Yield excluded words, and the rest as text."""
    kept = []
    for chunk in text.split():
        if re.match(r"-[^\W\d_]{2}", chunk):
            yield QueryPiece("excluded", chunk[1:])
        else:
            kept.append(chunk)
    if kept:
        yield QueryPiece("text", " ".join(kept))


def _chunks(text: str) -> list[_Chunk]:
    """Split at blanks that are not in braces or in an environment."""
    spans, start, depth = list[tuple[int, int]](), 0, 0
    for found in _CHUNK_SIGN.finditer(text):
        sign = found[0]
        if sign in ("{", r"\begin"):
            depth += 1
        elif sign in ("}", r"\end"):
            depth = max(0, depth - 1)
        elif sign.isspace() and depth == 0:
            spans.append((start, found.start()))
            start = found.end()
    spans.append((start, len(text)))
    return [
        _Chunk(kind_of(text[one:two]), one, two, text[one:two]) for one, two in spans if one < two
    ]


_GREEK_LETTER = "\u0391-\u03a9\u03b1-\u03c9\u03d1\u03d5\u03d6\u03f0\u03f1\u03f5"
_GREEK_SYMBOL = re.compile(f"[{_GREEK_LETTER}]")
_ONE_LETTER = rf"[A-Za-z{_GREEK_LETTER}]"
_NAME_CHOICE = "|".join(sorted(SPELT_NAMES, key=len, reverse=True))
_MATH_CHUNK = re.compile(
    rf"""
      \\[a-zA-Z|{{}},;!:\\]                    # LaTeX
    | [{{}}] | \^ (?=\S) | (?<=\S) \^
    | (?<![A-Za-z]) (?:{_ONE_LETTER}{{1,2}}|{_NAME_CHOICE}) '* _ (?=[\w({{\\]) | [)\]|'] _ \w
    | [{"".join(re.escape(c) for c in (*RAISED, *LOWERED) if c not in "*′'")}]
    | [\U0001d400-\U0001d7ff\u2100-\u214f‖⟨⟩⌊⌋⌈⌉…′″]
    | (?<![\w)]) \?[A-Za-z]                    # a wildcard
    | (?<!\w) {_ONE_LETTER}[\u0302-\u0308\u030a\u030c\u20d7] (?![A-Za-z]{{2}})
    """,
    re.VERBOSE,
)
#: A function of short arguments: `f(x)`, `softmax(Wx+b)`, `O(n`, but not `recall(balanced)`.
_SHORT_OPERAND = rf"(?:{_ONE_LETTER}{{1,3}}\d?|-?\d+(?:\.\d+)?)"
_FUNCTION_CALL = re.compile(
    rf"(?:-?\d*{_ONE_LETTER}\w*'*)\(+-?(?:{_SHORT_OPERAND}|{_NAME_CHOICE}|{_ONE_LETTER}\w*\()(?:[^A-Za-z\d].*|)\Z"
)
_OPERATOR_RUN = re.compile(r"[=+<>*/|~:^,;!()\[\]-]+")
_EDGES = "()[],.;:!?\"'`"


def kind_of(chunk: str) -> Kind:
    """Return what a chunk without blanks is, by itself."""
    core = chunk.strip(_EDGES)
    if re.fullmatch(r"-\d*[^\W\d_]?", core):
        core = core[1:]
    if not re.search(r"\w|\\.|[^\x00-\x7f]", chunk):
        return "operator" if re.search(r"[=+<>*/|~^-]", chunk) else "mark"
    pieces = [piece for piece in _OPERATOR_RUN.split(core) if piece]
    has_word = any(_is_word(piece) for piece in pieces)
    decomposed = unicodedata.normalize("NFD", chunk)
    is_tex = "\\" in chunk or "{" in chunk
    if _MATH_CHUNK.search(decomposed) and (is_tex or not _is_compound(core)):
        return "math"
    if any(unicodedata.category(char) == "Sm" for char in core if char not in "+<=>|~"):
        return "math" if not _is_compound(core) else "word"
    if _FUNCTION_CALL.match(chunk.rstrip(",.;:")):
        return "math"
    if len(pieces) == 1 and pieces[0] == core:
        return _kind_of_letters(core)
    if re.fullmatch(rf"{_ONE_LETTER}\*", core):
        return "letter"  # a star as a script, or A* search
    if re.fullmatch(r"-[^\W\d_]{2,}.*", chunk) or re.fullmatch(r"\w+(?:\+\+|#)", core):
        return "word"  # an excluded word; C++, C#
    if has_word:
        return "math" if "=" in core and len(pieces) > 1 and _is_equation(core) else "word"
    if re.search(r"[=+<>*|~]", core):
        return "math" if len(pieces) > 1 else "letter"
    is_plain = all(len(piece) == 1 or piece.isdigit() for piece in pieces)
    return "letter" if is_plain else "math" if "/" in core and "(" in core else "word"


def _kind_of_letters(core: str) -> Kind:
    """What a chunk of letters and digits is."""
    if core in SPELT_NAMES or core == "choose":
        return "name"
    if len(core) == 1 or re.fullmatch(r"\d+(?:\.\d+)?[A-Za-z]?", core):
        return "letter"
    if len(core) <= 3 and re.search(f"[{_GREEK_LETTER}]", core):
        return "math"
    if core.lower() in STOP_WORDS:
        return "word"
    return "short" if len(core) <= 3 and core.isalnum() else "word"


def _is_word(piece: str) -> bool:
    return (
        len(piece) > 3 and re.search(r"[^\W\d_]{4}", piece) is not None and piece not in SPELT_NAMES
    )


def _is_compound(core: str) -> bool:
    """Whether a chunk is a compound such as `χ²-test` or `α-divergence`, or a name with `_`."""
    return (
        re.search(r"[-_][^\W\d_]{3,}\Z", core) is not None
        and "=" not in core
        and re.match(rf"(?:{_ONE_LETTER}{{1,2}}|{_NAME_CHOICE})_", core) is None
    )


def _is_equation(core: str) -> bool:
    """Whether one side of a chunk with `=` is short: `loss=x`, but not `precision=recall`."""
    return any(not _is_word(side) for side in re.split(r"=", core) if side)


# ------------------------------------------------------------ runs of chunks


def _absorb_words(chunks: list[_Chunk]) -> list[_Chunk]:
    """Make a word that is one side of an equation part of it: `loss = x^2`."""
    made = list(chunks)
    for at, chunk in enumerate(chunks):
        if chunk.kind != "word" or not chunk.text.isalpha():
            continue
        before = chunks[at - 1] if at else None
        after = chunks[at + 1] if at + 1 < len(chunks) else None
        left, right = (_is_relation(each) for each in (before, after))
        is_alone = (left or before is None or before.kind != "word") and (
            right or after is None or after.kind != "word"
        )
        if (left or right) and is_alone:
            made[at] = chunk._replace(kind="short")
    return made


def _is_relation(chunk: _Chunk | None) -> bool:
    return chunk is not None and chunk.kind == "operator" and bool(set(chunk.text) & set("=+<>*~"))


def _trimmed(run: list[_Chunk], *, after_word: bool) -> list[_Chunk]:
    """Drop words and signs at the ends that belong to the text around a formula."""
    start, end = 0, len(run)
    while start < end:
        first, second = run[start], run[start + 1] if start + 1 < end else None
        is_loose = first.kind == "short" and not (second and second.kind == "operator")
        is_article = (
            after_word and first.text in ("a", "A", "I") and second and second.kind == "math"
        )
        is_sign = first.kind == "mark" or (
            after_word and first.kind == "operator" and first.text not in ("-", "+", "(")
        )
        if not (is_loose or is_article or is_sign):
            break
        start += 1
    while end > start:
        last, before = run[end - 1], run[end - 2] if end - 1 > start else None
        is_loose = last.kind == "short" and not (before and before.kind == "operator")
        if not (is_loose or last.kind in ("operator", "mark")) or last.text.strip(".,;:") in (
            ")",
            "]",
            "|",
        ):
            break
        end -= 1
    return run[start:end]


def _is_formula(run: list[_Chunk], *, whole: bool) -> bool:
    """Whether a run of chunks is a formula."""
    kinds = [chunk.kind for chunk in run]
    if "math" in kinds:
        return True
    has_relation = any(map(_is_relation, run[1:-1]))
    if "letter" not in kinds or all(chunk.text.isdigit() for chunk in run):
        return has_relation and any(chunk.text.strip(_EDGES) in GREEK_NAMES for chunk in run)
    if whole:
        return kinds != ["letter"] or not run[0].text.strip(_EDGES).isdigit()
    is_call = ("letter", "name", "letter") in zip(kinds, kinds[1:], kinds[2:], strict=False)
    # no text spells words with Greek letters: "β is the inverse temperature" names a symbol
    is_greek = len(run) == 1 and _GREEK_SYMBOL.fullmatch(run[0].text.strip(_EDGES)) is not None
    return has_relation or is_call or is_greek
