"""Tables of LaTeX mathematics: what each command means. `parse` contains no command names.

The prefix of a tag is its kind: `V!` identifier, `N!` number, none for an operator (the same
distinction as in LaTeXML, so that trees agree). Nothing here depends on trees.
"""

import unicodedata

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ",
    "zeta": "ζ", "eta": "η", "theta": "θ", "vartheta": "ϑ", "iota": "ι", "kappa": "κ",
    "varkappa": "ϰ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "omicron": "ο", "pi": "π",
    "varpi": "ϖ", "rho": "ρ", "varrho": "ϱ", "sigma": "σ", "varsigma": "ς", "tau": "τ",
    "upsilon": "υ", "phi": "ϕ", "chi": "χ", "psi": "ψ", "omega": "ω",
    "digamma": "ϝ", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π",
    "Sigma": "Σ", "Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
    "varGamma": "Γ", "varDelta": "Δ", "varTheta": "Θ", "varLambda": "Λ", "varXi": "Ξ",
    "varPi": "Π", "varSigma": "Σ", "varUpsilon": "Υ", "varPhi": "Φ", "varPsi": "Ψ",
    "varOmega": "Ω", "straightphi": "ϕ", "straightepsilon": "ϵ",
}  # fmt: skip
_GREEK |= {("up" if name.islower() else "Up") + name.lower(): char for name, char in _GREEK.items()}

_IDENTIFIERS = {
    "infty": "∞", "emptyset": "∅", "varnothing": "∅", "ell": "ℓ", "hbar": "ℏ", "hslash": "ℏ",
    "Re": "ℜ", "Im": "ℑ", "aleph": "ℵ", "beth": "ℶ", "gimel": "ℷ", "wp": "℘", "imath": "ı",
    "jmath": "ȷ", "angle": "∠", "measuredangle": "∡", "dots": "…", "ldots": "…", "dotsc": "…",
    "dotsb": "⋯", "dotsm": "⋯", "dotsi": "⋯", "dotso": "…", "textellipsis": "…",
    "cdots": "⋯", "vdots": "⋮", "ddots": "⋱", "iddots": "⋰", "adots": "⋰", "Bbbk": "𝕜",
    "complement": "∁", "eth": "ð", "mho": "℧", "AA": "Å", "ss": "ß", "o": "ø", "O": "Ø", "ae": "æ",
    "triangle": "△", "square": "□", "Box": "□", "Diamond": "◇", "blacksquare": "■",
    "bigstar": "★", "diamondsuit": "♢", "heartsuit": "♡", "clubsuit": "♣", "spadesuit": "♠",
    "flat": "♭", "natural": "♮", "sharp": "♯", "checkmark": "✓", "degree": "°", "backprime": "‵",
    "blacktriangle": "▲", "lozenge": "◊", "blacklozenge": "⧫", "copyright": "©", "pounds": "£",
    "qed": "□", "neg": "¬", "lnot": "¬",
    "blacktriangleleft": "◀", "blacktriangledown": "▼",
}  # fmt: skip

_OPERATORS = {
    # characters that can also be written with a command
    "lbrace": "{", "rbrace": "}", "lbrack": "[", "rbrack": "]", "lparen": "(", "rparen": ")",
    "vert": "|", "Vert": "‖", "arrowvert": "|", "Arrowvert": "‖", "vrule": "|",
    "backslash": "\\", "setminus": "∖", "smallsetminus": "∖", "colon": ":", "ast": "*",
    "star": "⋆", "lt": "<", "gt": ">", "prime": "′", "dprime": "′′", "textasteriskcentered": "*",
    "slash": "/", "textbackslash": "\\", "textbar": "|", "textless": "<", "textgreater": ">",
    # fences
    "langle": "⟨", "rangle": "⟩", "lfloor": "⌊", "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉",
    "llbracket": "⟦", "rrbracket": "⟧", "lgroup": "⟮", "rgroup": "⟯", "lmoustache": "⎰",
    "rmoustache": "⎱", "ulcorner": "⌜", "urcorner": "⌝", "llcorner": "⌞", "lrcorner": "⌟",
    # binary operators
    "pm": "±", "mp": "∓", "times": "×", "div": "÷", "cdot": "⋅", "cdotp": "⋅", "centerdot": "⋅",
    "bullet": "∙", "circ": "∘", "oplus": "⊕", "ominus": "⊖", "otimes": "⊗", "oslash": "⊘",
    "odot": "⊙", "cap": "∩", "cup": "∪", "Cap": "⋒", "Cup": "⋓", "uplus": "⊎", "sqcap": "⊓",
    "sqcup": "⊔", "vee": "∨", "lor": "∨", "wedge": "∧", "land": "∧", "barwedge": "⊼",
    "veebar": "⊻", "wr": "≀", "amalg": "⨿", "dagger": "†", "dag": "†", "ddagger": "‡",
    "ddag": "‡", "diamond": "⋄", "bigtriangleup": "△", "bigtriangledown": "▽", "triangleleft": "◁",
    "triangleright": "▷", "lhd": "⊲", "rhd": "⊳", "unlhd": "⊴", "unrhd": "⊵", "bigcirc": "○",
    "ltimes": "⋉", "rtimes": "⋊", "boxplus": "⊞", "boxminus": "⊟", "boxtimes": "⊠", "boxdot": "⊡",
    "circledast": "⊛", "circledcirc": "⊚", "circleddash": "⊝", "dotplus": "∔", "intercal": "⊺",
    "curlyvee": "⋎", "curlywedge": "⋏", "divideontimes": "⋇", "leftthreetimes": "⋋",
    "rightthreetimes": "⋌", "fatsemi": "⨟", "obar": "⌽", "bmod": "mod",
    # relations
    "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "leqslant": "⩽", "geqslant": "⩾", "ne": "≠",
    "neq": "≠", "ll": "≪", "gg": "≫", "lll": "⋘", "ggg": "⋙", "equiv": "≡", "sim": "∼",
    "simeq": "≃", "approx": "≈", "approxeq": "≊", "cong": "≅", "propto": "∝", "varpropto": "∝",
    "doteq": "≐", "asymp": "≍", "bowtie": "⋈", "Join": "⋈", "models": "⊧", "perp": "⟂",
    "nmid": "∤", "parallel": "∥", "nparallel": "∦", "in": "∈", "notin": "∉",
    "ni": "∋", "owns": "∋", "notni": "∌", "subset": "⊂", "supset": "⊃", "subseteq": "⊆",
    "supseteq": "⊇", "nsubseteq": "⊈", "nsupseteq": "⊉", "subsetneq": "⊊", "supsetneq": "⊋",
    "sqsubset": "⊏", "sqsupset": "⊐", "sqsubseteq": "⊑", "sqsupseteq": "⊒", "Subset": "⋐",
    "Supset": "⋑", "vdash": "⊢", "dashv": "⊣", "vDash": "⊨", "Vdash": "⊩", "Vvdash": "⊪",
    "nvdash": "⊬", "nvDash": "⊭", "prec": "≺", "succ": "≻", "preceq": "⪯", "succeq": "⪰",
    "preccurlyeq": "≼", "succcurlyeq": "≽", "precsim": "≾", "succsim": "≿", "lesssim": "≲",
    "gtrsim": "≳", "lessgtr": "≶", "gtrless": "≷", "lessapprox": "⪅", "gtrapprox": "⪆",
    "lesseqgtr": "⋚", "gtreqless": "⋛", "nless": "≮", "ngtr": "≯", "nleq": "≰", "ngeq": "≱",
    "lneq": "⪇", "gneq": "⪈", "nprec": "⊀", "nsucc": "⊁", "ncong": "≇", "nsim": "≁",
    "triangleq": "≜", "coloneqq": ":=", "coloneq": ":=", "eqqcolon": "=:", "colonequals": ":=",
    "equalscolon": "=:", "dblcolon": "∷", "Coloneqq": "::=", "vcentcolon": ":", "bumpeq": "≏",
    "Bumpeq": "≎", "circeq": "≗", "eqcirc": "≖", "fallingdotseq": "≒", "risingdotseq": "≓",
    "backsim": "∽", "thicksim": "∼", "thickapprox": "≈", "trianglelefteq": "⊴",
    "trianglerighteq": "⊵", "vartriangleleft": "⊲", "vartriangleright": "⊳", "between": "≬",
    "pitchfork": "⋔", "smile": "⌣", "frown": "⌢", "leqq": "≦", "geqq": "≧", "therefore": "∴",
    "because": "∵", "curlyeqprec": "⋞", "curlyeqsucc": "⋟",
    "shortparallel": "∥", "multimap": "⊸", "eqsim": "≂", "lessdot": "⋖", "gtrdot": "⋗",
    "subseteqq": "⫅", "supseteqq": "⫆", "subsetneqq": "⫋", "varsubsetneq": "⊊", "eqdef": "≝",
    # arrows
    "to": "→", "rightarrow": "→", "leftarrow": "←", "gets": "←", "uparrow": "↑", "downarrow": "↓",
    "updownarrow": "↕", "leftrightarrow": "↔", "Rightarrow": "⇒", "Leftarrow": "⇐",
    "Uparrow": "⇑", "Downarrow": "⇓", "Updownarrow": "⇕", "Leftrightarrow": "⇔", "iff": "⟺",
    "implies": "⟹", "impliedby": "⟸", "longrightarrow": "⟶", "longleftarrow": "⟵",
    "longleftrightarrow": "⟷", "Longrightarrow": "⟹", "Longleftarrow": "⟸",
    "Longleftrightarrow": "⟺", "mapsto": "↦", "longmapsto": "⟼", "hookrightarrow": "↪",
    "hookleftarrow": "↩", "rightharpoonup": "⇀", "rightharpoondown": "⇁", "leftharpoonup": "↼",
    "leftharpoondown": "↽", "rightleftharpoons": "⇌", "leftrightharpoons": "⇋", "nearrow": "↗",
    "searrow": "↘", "swarrow": "↙", "nwarrow": "↖", "leadsto": "⇝", "rightsquigarrow": "⇝",
    "twoheadrightarrow": "↠", "twoheadleftarrow": "↞", "rightarrowtail": "↣", "leftarrowtail": "↢",
    "rightrightarrows": "⇉", "leftleftarrows": "⇇", "rightleftarrows": "⇄",
    "leftrightarrows": "⇆", "upuparrows": "⇈", "downdownarrows": "⇊", "curvearrowright": "↷",
    "curvearrowleft": "↶", "circlearrowright": "↻", "circlearrowleft": "↺", "nrightarrow": "↛",
    "nleftarrow": "↚", "nRightarrow": "⇏", "nLeftarrow": "⇍", "nleftrightarrow": "↮",
    "nLeftrightarrow": "⇎", "dashrightarrow": "⇢", "dashleftarrow": "⇠", "Rrightarrow": "⇛",
    "Lleftarrow": "⇚", "leftrightsquigarrow": "↭", "upharpoonright": "↾", "restriction": "↾",
    "downharpoonright": "⇂", "upharpoonleft": "↿", "downharpoonleft": "⇃", "Lsh": "↰", "Rsh": "↱",
    "looparrowright": "↬", "looparrowleft": "↫", "mapsfrom": "↤",
    # others that are operators in LaTeXML
    "blacktriangleright": "▶",
    "nabla": "∇", "grad": "∇", "partial": "∂", "forall": "∀", "exists": "∃", "nexists": "∄",
    "top": "⊤", "bot": "⊥", "surd": "√", "S": "§", "P": "¶",
}  # fmt: skip

_BIG = {
    "sum": "∑", "prod": "∏", "coprod": "∐", "int": "∫", "iint": "∬", "iiint": "∭", "iiiint": "⨌",
    "oint": "∮", "oiint": "∯", "bigcup": "⋃", "bigcap": "⋂", "bigoplus": "⨁", "bigotimes": "⨂",
    "bigodot": "⨀", "bigtimes": "⨉", "biguplus": "⨄", "bigsqcup": "⨆", "bigvee": "⋁",
    "bigwedge": "⋀", "intop": "∫", "smallint": "∫", "idotsint": "∫⋯∫",
}  # fmt: skip

_LIMIT_OPERATORS = {
    "lim": "lim", "sup": "sup", "inf": "inf", "det": "det", "liminf": "lim inf",
    "limsup": "lim sup", "varliminf": "lim inf", "varlimsup": "lim sup", "injlim": "inj lim",
    "projlim": "proj lim", "varinjlim": "inj lim", "varprojlim": "proj lim",
}  # fmt: skip

_LIMIT_NAMES = "max min Pr gcd argmax argmin".split()

_FUNCTION_NAMES = (
    "arg cos sin tan cot sec csc arccos arcsin arctan cosh sinh tanh coth deg dim exp hom ker lg"
    " ln log sgn arccot arcsec arccsc sech csch arcsinh arccosh arctanh tr Tr rank"
).split()

#: Characters that stand for themselves.
_OWN_CHARACTERS = {
    "-": "−", "*": "*", "?": "&quest;", ",": "&comma;", "[": "&lsqb;", "]": "&rsqb;",
    "\\{": "{", "\\}": "}", "\\|": "‖", "\\%": "%", "\\$": "$", "\\#": "V!#", "\\_": "_",
    "\\&": "&", "−": "−", "∗": "*", "·": "⋅", "∶": ":", "≔": ":=", "∥": "‖", "║": "‖",
    "〈": "⟨", "〉": "⟩", "⟨": "⟨", "⟩": "⟩", "ε": "V!ϵ", "φ": "V!ϕ", "µ": "V!μ", "″": "′′",
    "‴": "′′′", "…": "V!…", "⋯": "V!⋯", "∞": "V!∞", "∅": "V!∅", "–": "−", "‐": "−", "⋆": "⋆",
    "ℓ": "V!ℓ", "ℏ": "V!ℏ", "...": "V!…",
}  # fmt: skip


def character(text: str) -> str:
    """The tag of one character of the source that is not an ASCII letter."""
    known = _OWN_CHARACTERS.get(text)
    if known is not None:
        return known
    category = unicodedata.category(text)
    if category[0] == "L":
        return "V!" + text
    return "N!" + text if category[0] == "N" else text


_ESCAPES = str.maketrans(
    {"?": "&quest;", ",": "&comma;", "[": "&lsqb;", "]": "&rsqb;", "\n": " ", "\t": " ", "\r": " "}
)


def escape(text: str) -> str:
    """Text as written in a tag: characters used in bracket strings become entities."""
    return text.translate(_ESCAPES)


def unescape(tag: str) -> str:
    """The text of a tag for people."""
    if "&" not in tag:
        return tag
    for char, name in (("?", "quest"), (",", "comma"), ("[", "lsqb"), ("]", "rsqb")):
        tag = tag.replace(f"&{name};", char)
    return tag


def delimiter(token: str) -> str:
    """The tag of a token used as a delimiter: '' for a point, an angle for `<`."""
    found = DELIMITERS.get(token)
    if found is not None:
        return found
    return SYMBOLS.get(token) or escape(token.lstrip("\\"))


def _symbols() -> dict[str, str]:
    table = {c: "V!" + c for c in "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"}
    table.update({c: c for c in '+=()<>/|!.;:"@`'})
    table.update({d: "N!" + d for d in "0123456789"})
    table.update(_OWN_CHARACTERS)
    for name, char in {**_GREEK, **_IDENTIFIERS}.items():
        table["\\" + name] = "V!" + char
    for name, char in {**_OPERATORS, **_BIG, **_LIMIT_OPERATORS}.items():
        table["\\" + name] = _OWN_CHARACTERS.get(char, char)
    for name in _FUNCTION_NAMES + _LIMIT_NAMES:
        table["\\" + name] = "V!" + name
    table["\\dd"] = "V!d"
    return table


#: Variants of a letter -> the tag of the letter, and the tag that shows the variant.
VARIANTS = {"\\varepsilon": ("V!ϵ", "V!ε"), "\\varphi": ("V!ϕ", "V!φ")}

#: Token of the source -> tag of its symbol.
SYMBOLS = _symbols()

#: Tags of big operators, which are drawn large and whose scripts are limits.
BIG = frozenset(_BIG.values())
INTEGRALS = frozenset("∫∬∭⨌∮∯")
LIMITS = (
    BIG | frozenset(_LIMIT_OPERATORS.values()) | frozenset("V!" + name for name in _LIMIT_NAMES)
)
#: Names that are operators however they are written: tag of the word -> tag of the operator.
NAMED = {"V!" + tag: tag for tag in _LIMIT_OPERATORS.values()}
#: Tags of named functions: never renamed, and followed by a thin space in print.
FUNCTIONS = frozenset("V!" + name for name in _FUNCTION_NAMES + _LIMIT_NAMES)

#: Command -> (edge, character, whether it stretches).
ACCENTS: dict[str, tuple[str, str, bool]] = {
    "\\" + name: (edge, char, wide)
    for edge, char, wide, names in [
        ("o", "^", False, "hat Hat"), ("o", "^", True, "widehat"), ("o", "~", False, "tilde Tilde"),
        ("o", "~", True, "widetilde"), ("o", "¯", False, "bar Bar"),
        ("o", "¯", True, "overline overbar widebar"),
        ("o", "→", False, "vec Vec"), ("o", "→", True, "overrightarrow"),
        ("o", "←", True, "overleftarrow"), ("o", "↔", True, "overleftrightarrow"),
        ("o", "˙", False, "dot Dot"), ("o", "¨", False, "ddot Ddot"), ("o", "⃛", False, "dddot"),
        ("o", "⃜", False, "ddddot"), ("o", "ˇ", False, "check Check"), ("o", "ˇ", True, "widecheck"),
        ("o", "´", False, "acute Acute"), ("o", "`", False, "grave Grave"),
        ("o", "˘", False, "breve Breve"), ("o", "○", True, "textcircled"),
        ("o", "˚", False, "mathring"), ("o", "⏞", True, "overbrace"),
        ("o", "⎴", True, "overbracket"), ("o", "⏜", True, "overparen wideparen"),
        ("u", "¯", True, "underline underbar"), ("u", "⏟", True, "underbrace"),
        ("u", "⎵", True, "underbracket"), ("u", "→", True, "underrightarrow"),
        ("u", "←", True, "underleftarrow"), ("u", "~", True, "utilde"),
        ("o", "⇀", True, "overrightharpoon"),
    ]
    for name in names.split()
}  # fmt: skip

#: Arrow commands whose argument goes over (and optionally under) the arrow.
ARROWS = {
    "\\xrightarrow": "→", "\\xleftarrow": "←", "\\xleftrightarrow": "↔", "\\xRightarrow": "⇒",
    "\\xLeftarrow": "⇐", "\\xLeftrightarrow": "⇔", "\\xmapsto": "↦", "\\xhookrightarrow": "↪",
    "\\xhookleftarrow": "↩", "\\xlongequal": "=", "\\xrightharpoonup": "⇀",
    "\\xrightleftharpoons": "⇌",
}  # fmt: skip

#: Command of two arguments -> the edge of the second on which the first is placed.
STACKS = {
    "\\overset": "o", "\\stackrel": "o", "\\underset": "u", "\\accentset": "o",
    "\\underaccent": "u", "\\lx@stackrel": "o",
}  # fmt: skip
#: The same with the arguments in the other order.
STACKS_ON = {"\\stackon": "o", "\\stackunder": "u"}
#: Derivatives written as one command -> the sign of the differential.
DERIVATIVES = {"\\dv": "V!d", "\\pdv": "∂", "\\diffp": "∂"}

#: Command -> (open, close, whether there is a bar).
FRACTIONS: dict[str, tuple[str, str, bool]] = {
    "\\frac": ("", "", True), "\\dfrac": ("", "", True), "\\tfrac": ("", "", True),
    "\\cfrac": ("", "", True), "\\nicefrac": ("", "", True), "\\sfrac": ("", "", True),
    "\\binom": ("(", ")", False), "\\dbinom": ("(", ")", False), "\\tbinom": ("(", ")", False),
    "\\multiset": ("(", ")", False),
}  # fmt: skip
INFIX: dict[str, tuple[str, str, bool]] = {
    "\\over": ("", "", True), "\\atop": ("", "", False), "\\choose": ("(", ")", False),
    "\\brack": ("&lsqb;", "&rsqb;", False), "\\brace": ("{", "}", False),
    "\\above": ("", "", True),
}  # fmt: skip

#: Alphabet commands with an argument, and the old switches -> style.
FONTS = {
    "\\" + name: style
    for style, names in {
        "rm": "mathrm mathup mathnormal symup",
        "it": "mathit symit",
        "bf": "mathbf symbf mathbfup bold",
        "bi": "boldsymbol bm pmb mathbfit symbfit mathbold bmath",
        "bb": "mathbb Bbb mathbbm mathds symbb mathbbmss",
        "cal": "mathcal symcal pazocal", "scr": "mathscr symscr", "bcal": "mathbcal mathbfcal",
        "frak": "mathfrak mathfrk symfrak frak", "sf": "mathsf symsf", "tt": "mathtt symtt",
    }.items()
    for name in names.split()
}  # fmt: skip
SWITCHES = {
    "\\rm": "rm", "\\it": "it", "\\bf": "bf", "\\cal": "cal", "\\sf": "sf", "\\tt": "tt",
    "\\sl": "it", "\\em": "it", "\\sc": "rm", "\\mit": "", "\\bfseries": "bf", "\\itshape": "it",
    "\\rmfamily": "rm", "\\sffamily": "sf", "\\ttfamily": "tt", "\\upshape": "rm",
    "\\boldmath": "bi", "\\unboldmath": "", "\\normalfont": "rm", "\\scshape": "rm",
    "\\mdseries": "rm", "\\operator@font": "rm", "\\operatorfont": "rm",
}  # fmt: skip
#: Styles in which adjacent letters form one word.
WORD_STYLES = frozenset({"rm", "it", "bf", "sf", "tt"})

#: Widths of spaces in em; `~` is one of them.
SPACES: dict[str, float] = {
    "\\,": 0.167, "\\:": 0.222, "\\>": 0.222, "\\;": 0.278, "\\!": -0.167, "\\ ": 0.25, "~": 0.25,
    "\\quad": 1.0, "\\qquad": 2.0, "\\thinspace": 0.167, "\\medspace": 0.222,
    "\\thickspace": 0.278, "\\negthinspace": -0.167, "\\negmedspace": -0.222,
    "\\negthickspace": -0.278, "\\enspace": 0.5, "\\enskip": 0.5, "\\space": 0.25,
    "\\nobreakspace": 0.25, "\\hfill": 1.0, "\\hfil": 1.0, "\\\n": 0.25, "\\\t": 0.25,
    "\\\r": 0.25, "\\nobreak": 0.0, "\\allowbreak": 0.0,
}  # fmt: skip

#: Commands that print nothing -> number of arguments to drop (optional ones are always dropped).
DROPPED: dict[str, int] = {
    "\\" + name: count
    for count, names in [
        (0, ("displaystyle textstyle scriptstyle scriptscriptstyle displaylimits"
            " nonumber notag hline strut mathstrut noindent relax protect null par"
            " allowdisplaybreaks displaybreak newline linebreak pagebreak noalign break"
            " tiny scriptsize footnotesize small normalsize large Large LARGE huge Huge"
            " centering raggedright bigskip medskip smallskip normalcolor qedhere"
            " toprule midrule bottomrule nopagebreak nolinebreak / - eqno leqno"
            " begingroup endgroup bgroup egroup unskip ignorespaces frenchspacing"
            " selectfont MoveEqLeft arraystretch unboldmath singlespacing item allowbreak"
            " mathsurround endgraf leavevmode IEEEyesnumber IEEEnonumber IEEEyessubnumber"
            " IEEEeqnarraynumspace xspace m@th nonscript copy smaller larger hdashline")),
        (1, ("label tag hspace vspace color hskip vskip kern mkern mskip phantom hphantom vphantom"
            " cite citep citet footnote footnotemark index nocite ref eqref cref Cref autoref"
            " pageref thispagestyle pagestyle footnotetext tagaside marginpar"
            " extracolsep cline cmidrule todo linespread thanks"
            " vref prettyref addtag fontfamily fontseries fontshape"
            " rowcolor columncolor cellcolor arrayrulecolor bibitem mathtoolsset mspace"
            " includegraphics refeq"
            " pgfsetlinewidth moveleft moveright lower raise")),
        (2, ("setlength addtolength setcounter addtocounter rule renewcommand newcommand"
            " providecommand definecolor fontsize numberwithin settoheight settowidth")),
    ]
    for name in names.split()
}  # fmt: skip
#: Commands without output of their own that may be followed by a star or an option.
OPTIONAL = frozenset(
    "\\" + name
    for name in "displaybreak pagebreak linebreak nopagebreak nolinebreak cfrac smash"
    " overbracket underbracket hdashline".split()
)
#: Dropped commands whose argument is a bare length (`\kern3pt`) if no brace follows.
LENGTHS = frozenset({"\\hskip", "\\vskip", "\\kern", "\\mkern", "\\mskip", "\\raise", "\\lower"})

#: Commands that print only their last argument -> number of arguments before it.
TRANSPARENT: dict[str, int] = {
    "\\" + name: count
    for count, names in [
        (0, ("mathrel mathbin mathord mathopen mathclose mathpunct mathinner ensuremath smash"
            " boxed hyperref fbox framebox mathclap mathllap mathrlap clap llap rlap cancel"
            " bcancel xcancel hcancel vcenter uppercase emph nolinkurl"
            " lefteqn hl"
            " shoveleft shoveright centerline adjustlimits mathsmaller"
            " mathlarger unit makebox reflectbox"
            " tightboxed Aboxed ul uline sout mathtext smashoperator ensurestackMath num")),
        (1, ("textcolor colorbox hyperlink hypertarget href raisebox scalebox mathcolor"
            " cancelto rotatebox parbox bbox mathmakebox")),
        (2, "resizebox fcolorbox multicolumn"), (3, "mathchoice"),
    ]
    for name in names.split()
}  # fmt: skip

#: Those whose last argument is typeset as text, so that mathematics in it is between dollars.
TEXT_BOXES = frozenset(
    "\\" + name
    for name in "raisebox scalebox resizebox rotatebox reflectbox parbox colorbox fcolorbox fbox"
    " framebox makebox".split()
)

#: Size commands before a delimiter -> its side ("" if unknown, "none" for neither).
SIZES = {
    "\\" + size + end: side
    for size in ("big", "Big", "bigg", "Bigg")
    for end, side in (("", ""), ("l", "open"), ("r", "close"), ("m", "none"))
}

#: Delimiters of \left and \right that differ from the symbol of their token.
DELIMITERS = {".": "", "<": "⟨", ">": "⟩", "\\lt": "⟨", "\\gt": "⟩", "\\mid": "|", "\\lvert": "|",
              "\\rvert": "|", "||": "‖", "\\lVert": "‖", "\\rVert": "‖"}  # fmt: skip

#: Commands that put both fences around their argument: (open, close).
PAIRED = {
    "\\abs": ("|", "|"), "\\norm": ("‖", "‖"), "\\bra": ("⟨", "|"), "\\ket": ("|", "⟩"),
    "\\braket": ("⟨", "⟩"), "\\Bra": ("⟨", "|"), "\\Ket": ("|", "⟩"), "\\Braket": ("⟨", "⟩"),
    "\\ceil": ("⌈", "⌉"), "\\floor": ("⌊", "⌋"), "\\set": ("{", "}"), "\\Set": ("{", "}"),
}  # fmt: skip

#: Environment -> (open, close, number of arguments, kind). A "matrix" is a table of cells; "rows"
#: joins its rows, since it only breaks or aligns lines; "plain" does nothing.
ENVIRONMENTS: dict[str, tuple[str, str, int, str]] = {
    name: (open_, close, arguments, kind)
    for open_, close, arguments, kind, names in [
        ("", "", 0, "matrix", "matrix smallmatrix matrix* "),
        ("(", ")", 0, "matrix", "pmatrix pmatrix* psmallmatrix"),
        ("[", "]", 0, "matrix", "bmatrix bmatrix* bsmallmatrix"),
        ("{", "}", 0, "matrix", "Bmatrix Bmatrix* Bsmallmatrix"),
        ("|", "|", 0, "matrix", "vmatrix vmatrix* vsmallmatrix"),
        ("‖", "‖", 0, "matrix", "Vmatrix Vmatrix* Vsmallmatrix"),
        ("", "", 1, "matrix", "array subarray tabular"),
        ("{", "", 0, "matrix", "cases dcases cases* dcases*"),
        ("", "}", 0, "matrix", "rcases drcases rcases*"),
        ("", "", 0, "rows", ("aligned split gathered multlined align align* gather gather* eqnarray"
         " eqnarray* multline multline* flalign flalign* equation equation* displaymath math"
         " dmath dmath* dgroup dgroup* lgathered rgathered subequations spreadlines small"
         " footnotesize scriptsize center")),
        ("", "", 1, "rows", ("alignedat alignat alignat* xalignat xxalignat IEEEeqnarray"
         " IEEEeqnarray* minipage")),
    ]
    for name in names.split()
}  # fmt: skip

#: Commands that print a glossary entry for their key.
ENTRIES = frozenset({"\\gls", "\\Gls", "\\glspl", "\\glssymbol", "\\acs", "\\ac", "\\acrshort"})

#: Tables of plain TeX, whose argument is the content of the environment of that name.
PLAIN_TABLES = {
    "\\matrix": "matrix", "\\pmatrix": "pmatrix", "\\bordermatrix": "pmatrix",
    "\\cases": "cases", "\\eqalign": "aligned", "\\eqalignno": "aligned",
    "\\displaylines": "gathered",
}  # fmt: skip

#: Commands for stacked rows given as an argument.
ROW_STACKS = frozenset({"\\substack", "\\makecell", "\\shortstack"})

#: Commands whose argument is text -> the style of a single letter, which is a symbol.
TEXT = {
    "textbf": "bf", "textit": "it", "textsf": "sf", "texttt": "tt", "textsl": "it",
    **dict.fromkeys(("textrm", "textup", "textnormal", "textmd", "textsc", "text"), ""),
    **dict.fromkeys(("mbox", "hbox", "intertext", "shortintertext", "mathtext"), ""),
    **dict.fromkeys(("textsuperscript", "textsubscript"), ""),
}  # fmt: skip

#: Commands that print nothing, except perhaps an argument.
SILENT = frozenset().union(SPACES, DROPPED, TRANSPARENT, FONTS, SWITCHES)
