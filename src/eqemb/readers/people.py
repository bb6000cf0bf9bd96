"""Names of people: the authors of a document, as plain text.

A citation with a wrong author is worse than one without authors. So a list of authors counts only
if every entry looks like the name of a person; otherwise there are none.
"""

import re
import unicodedata
from collections.abc import Iterable

_MOST_AUTHORS = 3_000
_MAX_NAME = 60
#: What stands between two authors on a line.
_BETWEEN = re.compile(r"\s*(?:[,;،，、&]|\n|\s(?:and|und|et|y|e)\s)\s*", re.IGNORECASE)
#: Signs of footnotes after a name.
_NOTE_SIGNS = re.compile(r"[\s*∗⋆★†‡§¶‖♯♠♣♦♥✉⁰¹²³⁴-⁹]+$|(?<=[^\W\d_])\d+$")
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
#: Parts of words that name organisations, roles and places, never people.
_NOT_PEOPLE = re.compile(
    r"universi|instit|depart|laborator|school|college|facult|centre|center|academ|research"
    r"|compan|corpor|\binc\b|\bltd\b|\bgmbh\b|\bllc\b|\blabs?\b|\bteam\b|\bgroup\b|\bdept\b"
    r"|technolog|scien|engineer|computer|comput|informati|statisti|mathemati|physic|hospital"
    r"|foundation|consorti|collaborat|initiative|project|contribut|anonym|author|submission"
    r"|google|microsoft|facebook|amazon|deepmind|openai|nvidia|\bibm\b|baidu|tencent|alibaba"
    r"|polytech|école|ecole|politecnico|hochschule|kaist|\beth\b|\bmit\b|\bcnrs\b|\binria\b"
    r"|city|street|avenue|country|\busa\b|\bchina\b|\bgermany\b|\bfrance\b|\bindia\b|\bcanada\b"
    r"|kingdom|united|states|republic|email|e-mail|corresponding|equal|present|address"
    r"|paper|report|lecture|notes|draft|version|editor|chapter|course|thesis|name\b|\bfirst\b"
    r"|\bsecond\b|\bthird\b|january|february|\bmarch\b|\bapril\b|june|july|august|september"
    r"|october|november|december|(\w)\1{3}|\bbooks?\b|trovato|kumquat|hippocampus|\bdoe$",
    re.IGNORECASE,
)
#: Parts of words that name where people work; a group or a team may be an author.
_WORKPLACE = re.compile(
    r"universi|institu|\bdepart|\bdept\b|laborator|\blabs?\b|\bschool|\bcollege|\bfacult|\bcentre"
    r"|\bcenter|\bacadem|polytech|politecnico|hochschule|\bécole|\becole",
    re.IGNORECASE,
)
_LONG_DASH = re.compile(r"\s*(?:---|\u2014)\s*|\s+(?:--|\u2013)\s+")
_CJK = "\u3400-\u9fff\uac00-\ud7af\u3040-\u30ff"
_IDEOGRAPHS = re.compile(rf"[{_CJK}]{{1,6}} ?[{_CJK}]{{1,4}}")
_INCOMPLETE = re.compile(r"\bet\.?\s*al\b|\bothers\b", re.IGNORECASE)


def names_in(line: str) -> list[str]:
    """Return the names on a line of authors; none if one of them may not be a name.

    >>> names_in("Ada Lovelace, Charles Babbage and Emmy Noether")
    ['Ada Lovelace', 'Charles Babbage', 'Emmy Noether']
    >>> names_in("Ada Lovelace, University of London")
    []
    """
    if _INCOMPLETE.search(line):
        return []
    return checked_names(_BETWEEN.split(_IN_PARENTHESES.sub(" ", line)))


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
    name = " ".join(unicodedata.normalize("NFC", _IN_PARENTHESES.sub(" ", entry)).split()).strip(
        " ,;:"
    )
    while (shorter := _NOTE_SIGNS.sub("", name)) != name:
        name = shorter
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
