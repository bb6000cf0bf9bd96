"""Names of people: the authors of a document, as plain text.

A citation with a wrong author is worse than one without authors. So a list of authors counts only
if every entry looks like the name of a person; otherwise there are none.
"""

import re
import unicodedata
from collections.abc import Iterable

_MOST_AUTHORS = 3_000
_MAX_NAME = 60
#: Longer entries and lines are not read.
_MAX_ENTRY, _MAX_LINE = 1_000, 200_000
#: What stands between two authors on a line with single blanks.
_BETWEEN = re.compile(r"[,;،，、&\n]| (?:and|und|et) ", re.IGNORECASE)
#: Of these, what does not stand between an author and a place.
_BETWEEN_PEOPLE = re.compile(r"[;&\n]|\b(?:and|und|et) ", re.IGNORECASE)
#: "And" in Portuguese, Italian and Spanish, which is also a part of names.
_AND_OR_PARTICLE = re.compile(r" [ey] ")
#: Signs of footnotes after a name.
_NOTE_SIGNS = " *∗⋆★†‡§¶‖♯♠♣♦♥✉⁰¹²³⁴⁵⁶⁷⁸⁹"
_NOTE_NUMBER = re.compile(r"(?<=[^\W\d_])\d+\Z")
_IN_PARENTHESES = re.compile(r"\([^()]*\)")
_FIRST_WORDS = re.compile(
    r"^(?:(?:by|and|with|authors?:?)\s+|(?:dr|prof|professor|mr|mrs|ms)\.?\s+)+", re.IGNORECASE
)
#: Titles after a name, which are no names.
_TITLES = frozenset(
    "jr sr ii iii iv phd ph.d msc bsc md mba dphil esq ieee acm member fellow student senior "
    "and und".split()
)  # fmt: skip
_PARTICLES = frozenset(
    "van von der den de del della di da do dos das du la le les los las el al bin ibn ben ter ten "
    "te zu zur zum af av e y i".split()
)
_NAME_WORD = re.compile(r"(?:[^\W\d_]|[\u0300-\u036f])(?:[^\W\d_]|[\u0300-\u036f]|[-'’ʼ`.·‐‑])*")
#: Words and parts of words that name organisations, roles and places, never people. Dates need no
#: entry: no name has a number, and "June" and "April" are names.
_NOT_PEOPLE = re.compile(
    r"universi|instit|depart|laborator|facult|academ|research|corporat|technolog|scienc|scientif"
    r"|engineer|comput|informati|statisti|mathemati|physics|hospital|foundation|consorti|collaborat"
    r"|initiative|contribut|anonym|author|submission|google|microsoft|facebook|amazon|deepmind"
    r"|openai|nvidia|tencent|alibaba|polytech|école|ecole|politecnico|hochschule|corresponding"
    r"|(\w)\1{3}|\bdoe$|\b(?:univ|schools?|colleges?|cent(?:er|re)s?|compan(?:y|ies)|inc|ltd|gmbh|llc"
    r"|labs?|team|group|dept|ibm|baidu|kaist|eth|mit|mpi|cnrs|inria|nasa|city|street|avenue|country"
    r"|usa|uk|china|germany|france|india|canada|kingdom|united|states|republic|e-?mail|equal(?:ly)?"
    r"|present|address|projects?|papers?|reports?|lectures?|notes|drafts?|versions?|editors?"
    r"|chapters?|courses?|thesis|names?|first|second|third|books?|trovato|kumquat|hippocampus"
    r"|learning|mining|carnegie mellon|johns hopkins|georgia tech|virginia tech|texas a"
    r"|new (?:york|jersey|haven|delhi|mexico|zealand|brunswick)|hong kong"
    r"|san (?:francisco|diego|jose)|santa (?:barbara|cruz|clara|fe)"
    r"|los (?:angeles|alamos)|palo alto|menlo park|ann arbor"
    r"|tel aviv|rio de janeiro|são paulo|sao paulo|buenos aires|(?:north|south|east|west)ern"
    r"|(?:north|south) (?:carolina|korea|africa))\b|\b(?-i:CA|NY)$",
    re.IGNORECASE,
)
#: Parts of words that name where people work; a group or a team may be an author.
_WORKPLACE = re.compile(
    r"universi|institu|\bdepart|\bdept\b|laborator|\blabs?\b|\bschool|\bcollege|\bfacult|\bcentre"
    r"|\bcenter|\bacadem|polytech|politecnico|hochschule|\bécole|\becole",
    re.IGNORECASE,
)
_LONG_DASH = re.compile(r"(?:(?<!\s)\s++)?(?:---|\u2014)\s*|(?<!\s)\s++(?:--|\u2013)\s+")
_CJK = "\u3400-\u9fff\uac00-\ud7af\u3040-\u30ff"
_IDEOGRAPHS = re.compile(rf"[{_CJK}]{{1,6}} ?[{_CJK}]{{1,4}}")
_INCOMPLETE = re.compile(r"\bet\.?\s*al\b|\bothers\b", re.IGNORECASE)


def names_in(line: str, *, only_people: bool = False) -> list[str]:
    """Return the names on a line of authors; none if one of them may not be a name.

    Of "A, B", B may be the place of A. Both are people if they have notes, if it is known that the
    line has people only, or if there are more of them.

    >>> names_in("Ada Lovelace, Charles Babbage and Emmy Noether")
    ['Ada Lovelace', 'Charles Babbage', 'Emmy Noether']
    >>> names_in("Ada Lovelace, University of London")
    []
    """
    if len(line) > _MAX_LINE or _INCOMPLETE.search(line):
        return []
    line = _IN_PARENTHESES.sub(" ", line)
    line = "\n".join(" ".join(part.split()) for part in line.split("\n"))
    entries = [name for entry in _BETWEEN.split(line) for name in _split_at_particle(entry)]
    found = checked_names(entries)
    is_sure = only_people or len(found) != 2 or len(entries) > line.count(",") + 1
    if is_sure or _BETWEEN_PEOPLE.search(line) or all(map(_has_note, filter(None, entries))):
        return found
    return []


def _split_at_particle(entry: str) -> list[str]:
    """Return the two people of "A B e C D"; in "A B y C" there is one."""
    parts = _AND_OR_PARTICLE.split(entry)
    return parts if all(len(part.split()) > 1 for part in parts) else [entry]


def _has_note(entry: str) -> bool:
    entry = entry.strip()
    return _without_notes(entry) != entry


def _without_notes(name: str) -> str:
    """Return a name without signs and numbers of footnotes after it."""
    return _NOTE_NUMBER.sub("", name.rstrip(_NOTE_SIGNS)).rstrip(_NOTE_SIGNS)


def names_before_workplace(line: str) -> list[str]:
    """Return the names on a line that goes on, after a dash or a comma, with where they work.

    None if a name may follow: a list that lacks somebody would be wrong.

    >>> names_before_workplace("Ada Lovelace \u2014 University of London")
    ['Ada Lovelace']
    >>> names_before_workplace("Ada Lovelace, University of London, Emmy Noether")
    []
    """
    first, *others = _LONG_DASH.split(line, maxsplit=1)
    if others:
        place = others[0]
    else:
        entries = line.split(",")
        at = next((at for at, each in enumerate(entries) if _WORKPLACE.search(each)), 0)
        first, place = ",".join(entries[:at]), ",".join(entries[at:])
    if not _WORKPLACE.search(place) or any(is_name(_plain(one)) for one in _BETWEEN.split(place)):
        return []
    return names_in(first)


def checked_names(entries: Iterable[str]) -> list[str]:
    """Return entries, one author each, as plain names; none if one may not be a name.

    "Noether, Emmy" becomes "Emmy Noether"; titles after a name are dropped.
    """
    found: dict[str, None] = {}
    for entry in entries:
        name = _plain(entry)
        if not name or all(word.strip(".").lower() in _TITLES for word in name.split()):
            continue
        if not is_name(name):
            return []
        found[name] = None
    return list(found) if len(found) <= _MOST_AUTHORS else []


def _plain(entry: str) -> str:
    """Return an entry without signs of footnotes, and with the family name at the end."""
    name = " ".join(_IN_PARENTHESES.sub(" ", entry).split())
    if len(name) > _MAX_ENTRY:
        return name
    name = _without_notes(unicodedata.normalize("NFC", name).strip(" ,;:"))
    name = _FIRST_WORDS.sub("", name).strip(" ,;:")
    family, comma, given = name.partition(",")
    if comma and "," not in given and given.strip(" .").lower() not in _TITLES:
        return f"{given.strip()} {family.strip()}"
    return family.strip() if comma else name


def is_name(name: str) -> bool:
    """Return whether a text looks like the full name of a person.

    >>> is_name("Ludwig van Beethoven"), is_name("Deep Learning Lab"), is_name("attention")
    (True, False, False)
    """
    if len(name) > _MAX_NAME or _NOT_PEOPLE.search(name):
        return False
    if _IDEOGRAPHS.fullmatch(name):
        return True
    words = name.split()
    if not 2 <= len(words) <= 6 or not all(map(_NAME_WORD.fullmatch, words)):
        return False
    real = [word for word in words if word.lower() not in _PARTICLES]
    has_family = any(sum(map(str.isalpha, word)) > 1 for word in real)
    return has_family and len(real) >= 2 - (len(real) < len(words)) and all(map(_is_capital, real))


def _is_capital(word: str) -> bool:
    """Return whether a word, or a part of it, begins with a capital: "Noether", "d'Alembert"."""
    parts = re.split(r"[-'’ʼ‐‑]", word)
    return any(
        part[:1].isupper() or (part[:1].isalpha() and not part[:1].islower()) for part in parts
    )
