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


#: Package -> definitions.
DEFINED_BY_PACKAGES: Final = {"optidef": _optidef()}
