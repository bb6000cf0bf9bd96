"""Stems of English words: *distances* and *distance* are one word to a search.

Porter's algorithm ("An algorithm for suffix stripping", 1980): five steps, each of which takes off
the longest ending that it knows where what is left is long enough. Its measure of length is how
often a vowel is followed by a consonant. A stem need not be a word, only the same for all forms.
"""

import re
from functools import lru_cache

#: Endings with what takes their place, longest first where one ends like another.
_STEP2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize",
    "ization": "ize", "bli": "ble", "alli": "al", "entli": "ent", "eli": "e",
    "ousli": "ous", "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive",
    "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
    "logi": "log",
}  # fmt: skip
_STEP3 = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic",
    "ful": "", "ness": "",
}  # fmt: skip
_STEP4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
    "ism", "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip
_ENDING2, _ENDING3, _ENDING4 = (
    re.compile(f"(?:{'|'.join(sorted(endings, key=len, reverse=True))})$")
    for endings in (_STEP2, _STEP3, _STEP4)
)
_MEASURE = re.compile("[v]+[c]+")
_WORD = re.compile("[a-z]{3,}")
#: British -ise where it is the ending of a verb: normalise, not supervise.
_BRITISH = re.compile(
    "(al|am|an|ar|at|en|er|et|gn|il|im|nt|om|on|or|rd)is(?=(?:e[ds]?|ing|ations?)$)"
)


@lru_cache(maxsize=1 << 17)
def stem(word: str) -> str:
    """The stem of a word; parts of a compound have each their own."""
    word = word.lower()
    if "-" in word:
        return "-".join(stem(part) for part in word.split("-"))
    if not _WORD.fullmatch(word):
        return word
    return _step5(_step4(_step3(_step2(_step1(_BRITISH.sub(r"\1iz", word))))))


def _shape(word: str) -> str:
    """Vowels and consonants of a word: a y after a consonant is a vowel."""
    shape = ""
    for letter in word:
        is_vowel = letter in "aeiou" or (letter == "y" and shape[-1:] == "c")
        shape += "v" if is_vowel else "c"
    return shape


def _measure(word: str) -> int:
    return len(_MEASURE.findall(_shape(word)))


def _ends_short(word: str) -> bool:
    """Whether it ends consonant, vowel, consonant, the last no w, x or y: hop, not how."""
    return _shape(word).endswith("cvc") and word[-1] not in "wxy"


def _step1(word: str) -> str:
    """Plurals, past tense and -ing."""
    if word.endswith("s"):
        if word.endswith(("sses", "ies")):
            word = word[:-2]
        elif not word.endswith("ss"):
            word = word[:-1]
    if word.endswith("eed"):
        if _measure(word[:-3]) > 0:
            word = word[:-1]
    else:
        for ending in ("ed", "ing"):
            rest = word.removesuffix(ending)
            if rest != word:
                if "v" in _shape(rest):
                    word = _restored(rest)
                break
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    return word


def _restored(rest: str) -> str:
    """What is left of a word without -ed or -ing, as it stands without them: hop, file."""
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if len(rest) > 1 and rest[-1] == rest[-2] and _shape(rest)[-1] == "c" and rest[-1] not in "lsz":
        return rest[:-1]
    if _measure(rest) == 1 and _ends_short(rest):
        return rest + "e"
    return rest


def _step2(word: str) -> str:
    return _replaced(word, _ENDING2, _STEP2)


def _step3(word: str) -> str:
    return _replaced(word, _ENDING3, _STEP3)


def _replaced(word: str, ending: re.Pattern[str], table: dict[str, str]) -> str:
    found = ending.search(word)
    if found and _measure(word[: found.start()]) > 0:
        return word[: found.start()] + table[found[0]]
    return word


def _step4(word: str) -> str:
    found = _ENDING4.search(word)
    if found:
        rest = word[: found.start()]
        is_ion = found[0] != "ion" or rest.endswith(("s", "t"))
        if is_ion and _measure(rest) > 1:
            return rest
    return word


def _step5(word: str) -> str:
    if word.endswith("e"):
        length = _measure(word[:-1])
        if length > 1 or (length == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        word = word[:-1]
    return word
