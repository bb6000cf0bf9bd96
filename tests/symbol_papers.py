r"""Two small papers that define their symbols, one of them twice: for tests of what people see.

In `descent`, `\eta` is the learning rate in the first section and the noise level in the second,
`w_t` is never defined, and one paragraph has formulas but no equation.
"""

from pathlib import Path

from eqemb.facade.library import Library

DESCENT = r"""\documentclass{article}\title{Walking downhill}\begin{document}\maketitle
\section{Method}
Gradient descent moves the weights by
\begin{equation} w_{t+1} = w_t - \eta \nabla L(w_t), \end{equation}
where $\eta$ is the learning rate and $L$ denotes the loss function.

A small $\eta$ is slow, and a large $\eta$ may increase $L$ for ever.
\section{Noise}
Let $\eta$ be the noise level of a measurement. The signal is
\begin{equation} y = x + \eta \epsilon_1^2, \end{equation}
where $x \in \mathbb{R}^d$ is the clean input.
\end{document}"""
MOMENTUM = r"""\documentclass{article}\title{Momentum}\begin{document}\maketitle
\section{Update}
Let $\eta$ be the learning rate. Then
\begin{equation} v = \mu v - \eta g, \end{equation}
where $g$ is the gradient.
\end{document}"""
PLAIN = r"""\documentclass{article}\title{Plain}\begin{document}\maketitle
Nothing is said about
\begin{equation} a + b = c. \end{equation}
\end{document}"""


def write_papers(folder: Path) -> Path:
    """Write the papers into a folder; return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (("descent", DESCENT), ("momentum", MOMENTUM), ("plain", PLAIN)):
        (folder / f"{name}.tex").write_text(text, "utf-8")
    return folder


def make_symbol_library(folder: Path) -> Library:
    """Return a library of the papers, without a model, opened."""
    papers = write_papers(folder / "papers")
    return Library.read([papers], folder / "library", jobs=1, index=True)
