"""Running text: from pieces of LaTeX text to clean sentences.

A text under construction contains marks, private-use characters that files.py keeps out of
sources: one character for each equation, one for each reference, a forced sentence break, and a
hole where a citation or a reference prints nothing that we know.
"""

import re
import unicodedata

EQUATION_BASE = 0x100000
REFERENCE_BASE = 0xF0000
MARKS = 0xFFFD  # maximum number of each kind
BREAK = "\x1e"
HOLE = "\ue102"
EQUATION_MARKS = re.compile("[\U00100000-\U0010fffd]")
REFERENCE_MARKS = re.compile("[\U000f0000-\U000ffffd]")
MARK = re.compile("[\U000f0000-\U0010fffd]")

# Chained str.replace is three times as fast on this text as one str.translate.
_TYPOGRAPHY = (
    ("{", ""), ("}", ""), ("~", " "), ("---", "—"), ("--", "–"), ("``", "“"), ("''", "”"),
    ("\u00ad", ""), ("\u200b", ""),
)  # fmt: skip
# Braces of inline mathematics, protected from the replacement above.
_PROTECTED = (("\ue100", "{"), ("\ue101", "}"))
_STOP = re.compile(r"[.!?][\"')\]”’}]*\s+")
#: The same in text with forced breaks, a third as fast: an alternative may begin anywhere.
_STOP_OR_BREAK = re.compile(rf"{_STOP.pattern}|(?<!\s)[^\S{BREAK}]*+{BREAK}\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.?g|i\.?e|cf|vs|resp|al|etc|viz|ca|approx|w\.?r\.?t|s\.?t|a\.?k\.?a|i\.?i\.?d|"
    r"[Ff]igs?|[Ee]qs?|[Ee]qns?|[Ss]ecs?|[Ss]ect|[Cc]haps?|[Cc]h|[Tt]abs?|[Tt]hms?|[Ll]em|[Pp]rop|"
    r"[Cc]or|[Dd]ef|[Rr]em|[Aa]lgs?|[Aa]lg|[Rr]efs?|[Aa]pp|[Nn]os?|[Vv]ol|[Pp]p|[Dd]r|[Pp]rof|"
    r"Mr|Mrs|Ms|St|Jr|Inc|Ltd|Univ|Dept|ed|eds|et|incl|max|min|[A-Z]))\.$"
)
# Each alternative begins with its own character, so that other characters are skipped fast.
_EMPTY_BRACKETS = r"\([\s,;]*\)|\[[\s,;]*\]"
_TIDY = re.compile(rf" (?:{_EMPTY_BRACKETS}|(?=[.,;:?!](?:\s|$)))|{_EMPTY_BRACKETS}")
_LOWER_NEXT = re.compile(r"[a-zà-öø-ÿ,;:)]")
#: Words that need what follows: without it, "as shown in, this holds".
_NEEDS_OBJECT = re.compile(
    r"(?:^|[\s(])(?:by|from|in|of|see|with|to|and|or|as|at|on|for|following|both|than|like|using|"
    r"via|per|through|under|e\.g\.,?|i\.e\.,?|cf\.?)\s*$",
    re.IGNORECASE,
)
_NEIGHBOURING_HOLES = re.compile(rf"{HOLE}(?:(?:[ ,;]|and\b|or\b|to\b|–)*{HOLE})+")
_HOLE_IN_BRACKETS = re.compile(rf" ?\(([^()${HOLE}]*{HOLE}[^()$]*)\)")
#: Words that say nothing in brackets if what they point to is missing: (see Section ).
_POINTING_WORDS = frozenset(
    """see also e g eg i ie cf in of the and or from by equation equations eq eqs eqn eqns section
    sections sec secs figure figures fig figs table tables tab theorem theorems thm lemma lemmas
    proposition propositions prop corollary appendix app algorithm algorithms alg chapter chapters
    definition definitions def assumption assumptions example examples remark page part line step
    recall for details more""".split()
)
_RUN_OF_SPACES = re.compile("  +")
_POINTER_WORD = re.compile(r"[^\W\d_]+")


def protect(mathematics: str) -> str:
    """Inline mathematics in the form used in a text under construction."""
    for kept, brace in _PROTECTED:
        mathematics = mathematics.replace(brace, kept)
    return mathematics.replace("~", " ")


def unprotect(text: str) -> str:
    """A finished text: with the braces of its mathematics, and an ellipsis for each hole."""
    for kept, brace in _PROTECTED:
        text = text.replace(kept, brace)
    return text.replace(HOLE, "…")


def accented(mark: str, letter: str) -> str:
    """A letter with an accent, as one character if possible."""
    base = {"ı": "i", "ȷ": "j"}.get(letter, letter)
    return unicodedata.normalize("NFC", base[:1] + mark + base[1:])


def clean(pieces: list[str]) -> str:
    """Join pieces of text into one line without braces, with typographic dashes and quotes."""
    text = "".join(pieces)
    for written, character in _TYPOGRAPHY:
        text = text.replace(written, character)
    text = " ".join(text.split()) if BREAK not in text else _fold(text)
    if HOLE in text:
        text = _RUN_OF_SPACES.sub(" ", _without_citations(text))
    return tidy(text)


def _without_citations(text: str) -> str:
    """Keep the holes of citations only where a sentence needs them: "as shown in …"."""
    parts = _NEIGHBOURING_HOLES.sub(HOLE, text).split(HOLE)
    made = parts[0]
    for part in parts[1:]:
        made += (HOLE if _is_needed(made, part) else "") + part
    return made


def _is_needed(before: str, after: str) -> bool:
    """Whether the words before a citation need it, or it is the subject of a sentence."""
    end = before[-16:]
    if _NEEDS_OBJECT.search(end):
        return True
    said = end.rstrip(" ")  # str.rstrip treats BREAK as a blank
    if said.endswith(BREAK):
        said = ""
    if said and (said == end or said[-1] != "." or _ABBREVIATION.search(said)):
        return False
    return after.lstrip()[:1].islower()


def close_holes(text: str) -> str:
    """Join neighbouring holes, and remove brackets that say nothing without what is missing."""
    if HOLE not in text:
        return text
    text = _NEIGHBOURING_HOLES.sub(HOLE, text)

    def bracket(found: re.Match[str]) -> str:
        words = _POINTER_WORD.findall(found[1])
        before = found.string[max(0, found.start() - 16) : found.start()]
        is_object = not words and _NEEDS_OBJECT.search(before) is not None  # "by (3) it holds"
        says = any(word.lower() not in _POINTING_WORDS for word in words)
        return found[0] if says or is_object else ""

    return _HOLE_IN_BRACKETS.sub(bracket, text)


def tidy(text: str) -> str:
    """Remove what citations and references leave behind: "model .", "attention ()"."""
    return _TIDY.sub("", text)


def _fold(text: str) -> str:
    return BREAK.join(" ".join(part.split()) for part in text.split(BREAK))


def sentences(text: str) -> list[str]:
    """Split one clean paragraph into sentences."""
    found: list[str] = []
    start = seen = dollars = 0
    for match in (_STOP_OR_BREAK if BREAK in text else _STOP).finditer(text):
        dollars += text.count("$", seen, match.end())
        seen = match.end()
        if BREAK not in match[0]:  # str.strip treats BREAK as a blank
            before = text[max(0, match.start() - 12) : match.start() + 1]
            if text[match.start()] == "." and _ABBREVIATION.search(before):
                continue
            if dollars % 2 or _LOWER_NEXT.match(text, match.end()):
                continue
        if sentence := text[start : match.end()].strip(" " + BREAK):
            found.append(sentence)
        start = match.end()
    if sentence := text[start:].strip(" " + BREAK):
        found.append(sentence)
    return found
