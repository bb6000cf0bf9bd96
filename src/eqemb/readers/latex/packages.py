r"""Commands of packages, defined in LaTeX by what they print.

A package that is used is read as if its text here stood in its place; a table of definitions
instead of code.
"""

from typing import Final

_PROBLEMS = (
    ("mini", "min"), ("maxi", "max"), ("argmini", "arg\\,min"), ("argmaxi", "arg\\,max")
)  # fmt: skip


def _optidef() -> str:
    r"""\begin{mini}{variables}{objective}{labels}{result} \addConstraint{..}{..} \end{mini}."""
    text = [
        r"\NewDocumentCommand\addConstraint{m G{} G{}}{\\ & #1 #2 #3}",
        r"\NewDocumentCommand\breakObjective{m}{\\ & #1}",
    ]
    slots = r"{O{} D<>{} D||{} m m m m}"
    for name, operator in _PROBLEMS:
        head = rf"#7\underset{{#4}}{{\mathrm{{{operator}}}}} & \quad #5"
        for environment in (name, name + "e"):
            for star, display in (("", "equation"), ("*", "equation*")):
                text.append(
                    rf"\NewDocumentEnvironment{{{environment}{star}}}{slots}"
                    rf"{{\begin{{{display}}}#6\begin{{aligned}}{head}}}"
                    rf"{{\end{{aligned}}\end{{{display}}}}}"
                )
            text.append(
                rf"\NewDocumentEnvironment{{{environment}!}}{slots}"
                rf"{{\begin{{subequations}}#6\begin{{align}}{head}}}"
                r"{\end{align}\end{subequations}}"
            )
    return "".join(text)


#: Brackets, Dirac notation, derivatives and matrices.
_PHYSICS = r"""
\NewDocumentCommand\comm{s m m}{[#2,#3]} \let\commutator\comm
\NewDocumentCommand\acomm{s m m}{\{#2,#3\}}
\let\anticomm\acomm \let\anticommutator\acomm \let\poissonbracket\acomm \let\pb\acomm
\NewDocumentCommand\ip{s m m}{\langle #2|#3\rangle} \let\innerproduct\ip
\NewDocumentCommand\mel{s m m m}{\langle #2|#3|#4\rangle}
\let\matrixel\mel \let\matrixelement\mel
\NewDocumentCommand\ev{s m g}{\IfNoValueTF{#3}{\langle #2\rangle}{\langle #3|#2|#3\rangle}}
\let\expval\ev \let\expectationvalue\ev
\NewDocumentCommand\dyad{s m g}{|#2\rangle\langle \IfNoValueTF{#3}{#2}{#3}|}
\let\ketbra\dyad \let\outerproduct\dyad \let\op\dyad
\NewDocumentCommand\braket{s m g}{\langle #2|\IfNoValueTF{#3}{#2}{#3}\rangle}
\NewDocumentCommand\pdv{s o m g g}{\IfNoValueTF{#5}{\IfNoValueTF{#4}
 {\frac{\partial}{\partial #3}}{\IfNoValueTF{#2}{\frac{\partial #3}{\partial #4}}
 {\frac{\partial^{#2} #3}{\partial #4^{#2}}}}}{\frac{\partial^2 #3}{\partial #4\partial #5}}}
\let\partialderivative\pdv
\NewDocumentCommand\fdv{s o m g}{\IfNoValueTF{#4}{\frac{\delta}{\delta #3}}
 {\frac{\delta #3}{\delta #4}}}
\NewDocumentCommand\mqty{d() d[] d|| g}{\IfValueT{#1}{\begin{pmatrix}#1\end{pmatrix}}
 \IfValueT{#2}{\begin{bmatrix}#2\end{bmatrix}}\IfValueT{#3}{\begin{vmatrix}#3\end{vmatrix}}
 \IfValueT{#4}{\begin{matrix}#4\end{matrix}}}
\NewDocumentCommand\pmqty{m}{\begin{pmatrix}#1\end{pmatrix}}
\NewDocumentCommand\bmqty{m}{\begin{bmatrix}#1\end{bmatrix}}
\NewDocumentCommand\vmqty{m}{\begin{vmatrix}#1\end{vmatrix}}
\NewDocumentCommand\order{m}{\mathcal{O}(#1)}
\NewDocumentCommand\vb{s m}{\mathbf{#2}} \let\vectorbold\vb
\NewDocumentCommand\va{s m}{\vec{\mathbf{#2}}}
\NewDocumentCommand\vu{s m}{\hat{\mathbf{#2}}}
\NewDocumentCommand\qq{s m}{\quad\text{#2}\quad}
\NewDocumentCommand\qty{G{}}{\IfBlankTF{#1}{}{\left\{#1\right\}}}
\def\vdot{\cdot}\def\cross{\times}\def\curl{\nabla\times}\def\laplacian{\nabla^2}
"""

_UNIT_SIGNS = {
    "metre": "m", "meter": "m", "second": "s", "kilogram": "kg", "gram": "g", "ampere": "A",
    "kelvin": "K", "mole": "mol", "candela": "cd", "hertz": "Hz", "newton": "N", "pascal": "Pa",
    "joule": "J", "watt": "W", "coulomb": "C", "volt": "V", "farad": "F", "ohm": r"\Omega",
    "siemens": "S", "weber": "Wb", "tesla": "T", "henry": "H", "lumen": "lm", "lux": "lx",
    "becquerel": "Bq", "gray": "Gy", "sievert": "Sv", "minute": "min", "hour": "h", "day": "d",
    "litre": "L", "liter": "L", "tonne": "t", "bar": "bar", "electronvolt": "eV", "decibel": "dB",
    "degreeCelsius": r"\circ C", "celsius": r"\circ C", "percent": r"\%", "degree": r"\circ",
    "arcminute": "'", "arcsecond": "''", "parsec": "pc", "lightyear": "ly", "bit": "bit",
    "byte": "B", "angstrom": "Å", "barn": "b", "dalton": "Da", "radian": "rad",
    "steradian": "sr", "astronomicalunit": "au", "neper": "Np", "bel": "B", "square": "",
    "squared": "^2", "cubed": "^3", "cubic": "", "per": "/", "yocto": "y", "zepto": "z",
    "atto": "a", "femto": "f", "pico": "p", "nano": "n", "micro": r"\mu ", "milli": "m",
    "centi": "c", "deci": "d", "deca": "da", "hecto": "h", "kilo": "k", "mega": "M", "giga": "G",
    "tera": "T", "peta": "P", "exa": "E", "zetta": "Z", "yotta": "Y", "kg": "kg", "km": "km",
    "cm": "cm", "mm": "mm", "um": r"\mu m", "nm": "nm", "GHz": "GHz", "MHz": "MHz", "kHz": "kHz",
    "Hz": "Hz", "keV": "keV", "MeV": "MeV", "GeV": "GeV", "TeV": "TeV", "meV": "meV", "eV": "eV",
    "ms": "ms", "ns": "ns", "us": r"\mu s", "mW": "mW", "kW": "kW", "MW": "MW", "mA": "mA",
    "mV": "mV", "kV": "kV", "mol": "mol", "K": "K", "Pa": "Pa", "kPa": "kPa", "MPa": "MPa",
}  # fmt: skip


#: Quantities. Units are commands only in their arguments; with physics, \qty is a bracket.
_SIUNITX = (
    r"\NewDocumentCommand\si{o m}{\begingroup "
    + "".join(rf"\def\{name}{{{sign}}}" for name, sign in _UNIT_SIGNS.items())
    + r"""\mathrm{#2}\endgroup} \let\unit\si
\NewDocumentCommand\SI{o m o m}{#2\,\si{#4}}
\ProvideDocumentCommand\qty{o m m}{#2\,\si{#3}}
\NewDocumentCommand\SIrange{o m m m}{#2\,\si{#4}\text{ to }#3\,\si{#4}} \let\qtyrange\SIrange
\NewDocumentCommand\numrange{o m m}{#2\text{ to }#3}
"""
)
_RESTATE = "".join(
    rf"\NewDocumentEnvironment{{restatable{star}}}{{o m m}}"
    r"{\keepstatement{#3}{#2}\IfNoValueTF{#1}{\begin{#2}}{\begin{#2}[#1]}}{\end{#2}}"
    for star in ("", "*")
)
#: Links and records of PlanetMath's articles.
_PLANETMATH = r"\newcommand\PMlinkname[2]{#1}" + "".join(
    rf"\newcommand\{name}[{count}]{{{body}}}"
    for name, count, body in (
        ("PMlinkid", 2, "#1"), ("PMlinkexternal", 2, "#1"), ("PMlinktofile", 2, "#1"),
        ("PMlinkescapetext", 1, "#1"), ("PMlinkescapeword", 1, ""), ("PMlinkescapephrase", 1, ""),
    )
)  # fmt: skip
#: Package -> definitions.
DEFINED_BY_PACKAGES: Final = {
    "optidef": _optidef(),
    "physics": _PHYSICS,
    "siunitx": _SIUNITX,
    "tcolorbox": r"\newtcolorbox{tcolorbox}[1][]{#1}",
    **dict.fromkeys(("thmtools", "thm-restate"), _RESTATE),
    "pmmeta": _PLANETMATH,
    "tagging": r"\let\usetag\useversions\let\droptag\dropversions\let\tagged\inversions"
    r"\let\untagged\notinversions\let\iftagged\ifversions ",
}
