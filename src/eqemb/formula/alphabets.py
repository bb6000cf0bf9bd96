"""Letters of mathematical alphabets (bold, script, double-struck ...) in Unicode."""

from functools import cache

# First code points of A-Z, a-z, 0-9 and of the Greek letters; 0 if Unicode has none.
_STARTS = {
    "bf": (0x1D400, 0x1D41A, 0x1D7CE, 0x1D6A8, 0),
    "bi": (0x1D468, 0x1D482, 0x1D7CE, 0x1D6A8, 0x1D736),
    "bb": (0x1D538, 0x1D552, 0x1D7D8, 0, 0),
    "cal": (0x1D49C, 0x1D4B6, 0, 0, 0),
    "scr": (0x1D49C, 0x1D4B6, 0, 0, 0),
    "bcal": (0x1D4D0, 0x1D4EA, 0, 0, 0),
    "frak": (0x1D504, 0x1D51E, 0, 0, 0),
    "sf": (0x1D5A0, 0x1D5BA, 0x1D7E2, 0, 0),
    "tt": (0x1D670, 0x1D68A, 0x1D7F6, 0, 0),
}
# Letters that Unicode had encoded before it added the alphabets.
_HOLES = dict(
    zip(
        "𝒝𝒠𝒡𝒣𝒤𝒧𝒨𝒭𝒺𝒼𝓄𝔆𝔋𝔌𝔕𝔝𝔺𝔿𝕅𝕇𝕈𝕉𝕑",
        "ℬℰℱℋℐℒℳℛℯℊℴℭℌℑℜℨℂℍℕℙℚℝℤ",
        strict=True,
    )
)
_GREEK_CAPITALS = "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡϴΣΤΥΦΧΨΩ∇"
_GREEK_SMALL = "αβγδεζηθικλμνξοπρςστυφχψω∂ϵϑϰϕϱϖ"


@cache
def styled(tag: str, style: str) -> str:
    """The tag of a letter, digit or word in a style; other tags are returned unchanged."""
    if tag[1:2] != "!" or tag[0] not in "VN" or style not in _STARTS:
        return tag
    return tag[:2] + "".join(_letter(char, style) for char in tag[2:])


def _letter(char: str, style: str) -> str:
    capital, small, digit, greek_capital, greek_small = _STARTS[style]
    for start, letters in (
        (capital, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
        (small, "abcdefghijklmnopqrstuvwxyz"),
        (digit, "0123456789"),
        (greek_capital, _GREEK_CAPITALS),
        (greek_small, _GREEK_SMALL),
    ):
        place = letters.find(char)
        if place >= 0:
            made = chr(start + place) if start else char
            return _HOLES.get(made, made)
    return char
