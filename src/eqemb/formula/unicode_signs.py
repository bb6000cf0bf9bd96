"""Signs of Unicode and ASCII mathematics, and the LaTeX of each."""

from functools import cache

from eqemb.formula import unicode
from eqemb.formula.alphabets import styled
from eqemb.formula.commands import FUNCTIONS, NAMED, SYMBOLS, VARIANTS

#: Raised and lowered characters -> the plain ones.
RAISED = {made: chr(plain) for plain, made in unicode.superscripts().items()}
LOWERED = {made: chr(plain) for plain, made in unicode.subscripts().items()}
#: Scripts of Unicode that `to_text` does not print.
RAISED |= dict(zip("ᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵁⱽᵂᵝᵞᵟᶿᵠᵡ⊺", "ABDEGHIJKLMNOPRUVWβγδθϕχ⊤", strict=True))
LOWERED |= dict(zip("ᵦᵧᵨᵩᵪ", "βγρϕχ", strict=True))
PRIME_SIGNS = "'′″‴’"
COMBINING_ACCENTS = {
    "\u0302": "hat", "\u0303": "tilde", "\u0304": "bar", "\u0305": "bar", "\u20d7": "vec",
    "\u0307": "dot", "\u0308": "ddot", "\u030c": "check", "\u0301": "acute", "\u0300": "grave",
    "\u0306": "breve", "\u030a": "mathring",
}  # fmt: skip
#: Signs that `to_text` prints as scripts -> the command that puts them there.
MARK_COMMANDS = {
    "_¯": "underline", "_⏟": "underbrace", "^⏞": "overbrace", "_~": "utilde", "^←": "overleftarrow",
    "^↔": "overleftrightarrow",
}  # fmt: skip
ROOT_SIGNS = {"√": "", "∛": "[3]", "∜": "[4]"}
OPEN_SIGNS, CLOSE_SIGNS = "([{⟨⌊⌈", ")]}⟩⌋⌉"
#: Written with ASCII -> LaTeX.
_DIGRAPHS = {
    "<=": r"\leq", ">=": r"\geq", "!=": r"\neq", "=>": r"\Rightarrow", "->": r"\to", "==": "=",
    "<-": r"\gets", "...": r"\dots", "**": "^", "~": r"\sim", "%": r"\%", "#": r"\#", "&": " ",
    "$": r"\$", "{": r"\{", "}": r"\}", "‖": r"\|", "\\": r"\backslash", "⋯": r"\cdots",
}  # fmt: skip


#: Greek letters as people write them -> the command.
GREEK_NAMES = {
    name: name
    for name in "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho"
    " sigma tau upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi"
    " Omega varepsilon varphi vartheta".split()
}
#: Names that people write without a backslash -> the command.
SPELT_NAMES = GREEK_NAMES | {
    name: name
    for name in sorted(
        {tag[2:] for tag in FUNCTIONS}
        | {tag for tag in NAMED.values() if " " not in tag}
        | set("sum prod int partial nabla infty cdot times leq geq neq".split())
    )
}
SPELT_NAMES |= {"infinity": "infty", "integral": "int"}


def latex_of(sign: str) -> str:
    """Return the LaTeX of a character, or of several ASCII ones."""
    return _DIGRAPHS.get(sign) or commands_of_characters().get(sign) or sign


@cache
def commands_of_characters() -> dict[str, str]:
    """Return the LaTeX of each character that has a command."""
    made: dict[str, str] = {}
    for command, tag in SYMBOLS.items():
        name = tag[2:] if tag[:2] == "V!" else tag
        if command[0] == "\\" and len(name) == 1 and not name.isascii():
            made.setdefault(name, command)
    made |= {look[2:]: command for command, (_, look) in VARIANTS.items()}
    fonts = {
        "bf": "mathbf", "bi": "boldsymbol", "bb": "mathbb", "cal": "mathcal", "bcal": "mathbfcal",
        "frak": "mathfrak", "sf": "mathsf", "tt": "mathtt",
    }  # fmt: skip
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
    greek = {char: command for char, command in made.items() if char.isalpha()}
    for style, font in fonts.items():
        for char in (*letters, *greek):
            kind = "N!" if char.isdigit() else "V!"
            shown = styled(kind + char, style)[2:]
            if shown != char:
                made.setdefault(shown, f"\\{font}{{{greek.get(char, char)}}}")
    return made
