"""A small library with a hand-made model: every vector points along the axis of its topic."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from eqemb.facade.build import ignore_progress, index_vectors
from eqemb.facade.equation_map import map_of
from eqemb.facade.library import Library
from eqemb.library.generations import seal_again
from eqemb.models import workspace
from eqemb.models.embeddings import Embeddings
from synthetic import read_inline

PAPERS = {
    "angles": r"""\title{On <script>alert(1)</script> \& angles}
The cosine of the angle between two vectors $x$ and $y$ is
\begin{equation}\label{eq:cos} \cos(x, y) = \frac{x \cdot y}{\|x\| \|y\|} \end{equation}
which measures their similarity. Whoever compares documents by \eqref{eq:cos} forgets their lengths.
""",
    "documents": r"""Two documents are compared by the cosine similarity
\begin{equation} \cos(a, b) = \frac{a \cdot b}{\|a\| \|b\|} \tag{2.3} \end{equation}
of their vectors. Similarities lie between zero and one.""",
    "harmonic": r"""The harmonic mean of precision and recall is the balanced measure
\begin{equation} F = \frac{2 P R}{P + R} \tag{F} \end{equation} of retrieval.""",
    "again": r"""Elsewhere the same harmonic mean is written
\begin{equation}\label{eq:f_1, again} F = \frac{2PR}{P+R}. \end{equation}
Precision is \[ P = \frac{a}{a + b} \]""",
}
#: Words by the axis of their topic.
TOPICS = (
    ("cosine", "angle", "similarity", "similarities", "vectors", "documents", "lengths"),
    ("harmonic", "precision", "recall", "balanced", "retrieval"),
    ("elsewhere", "written", "measures"),
)


def make_library(folder: Path, *, model: bool = True) -> Library:
    """Read the papers; with a model, every word, unit and equation has its axis."""
    (folder / "papers").mkdir()
    for name, text in PAPERS.items():
        document = rf"\documentclass{{article}}\begin{{document}}{text}\end{{document}}"
        (folder / "papers" / f"{name}.tex").write_text(document)
    library = Library.read([folder / "papers"], folder / "library", jobs=1, index=True)
    if model:
        set_model(library, make_model(library))
        return Library.open(folder / "library")
    return library


def make_full_library(folder: Path) -> Path:
    """Make a library with everything that one can have: a model, a map, models, a corpus."""
    with pytest.MonkeyPatch.context() as patch:
        read_inline(patch)
        with make_library(folder) as made:
            map_of(made)
            assert made.model is not None
            made.model.config["validation"] = None
            made.model.save(made.folder / "models" / "m")
            workspace.corpus(made)
            return made.folder


def set_model(library: Library, model: Embeddings) -> None:
    """Make a model that of the current generation, and close the library."""
    model.save(library.generation / "model")
    library.close()
    index_vectors(library.generation, ignore_progress)
    seal_again(library.folder)


def make_model(library: Library) -> Embeddings:
    """Return vectors along the axes of their topics; equations of `again` alone have none."""
    words = [word for topic in TOPICS for word in topic]
    axes = [np.eye(3, dtype=np.float32)[at] for at, topic in enumerate(TOPICS) for _ in topic]
    forms, units, alpha_units = [], dict[str, int](), list[NDArray[np.float32]]()
    bags: list[list[int]] = []
    (records,) = library.records.parts
    names = list(records.unit_names())
    for number, canonical, blob in records.types():
        homes = {name.partition("#")[0] for name in records.equation_names(number)}
        if homes == {"again"}:
            continue
        axis = np.eye(3, dtype=np.float32)[1 if homes & {"harmonic", "again"} else 0]
        bag = [names[row] for row in np.frombuffer(blob, np.int32).tolist()]
        for unit in bag:
            if units.setdefault(unit, len(units)) == len(alpha_units):
                alpha_units.append(axis)
        forms.append(canonical)
        bags.append([units[unit] for unit in bag])
    alpha = np.stack(alpha_units)
    equations = np.stack([alpha[bag].mean(axis=0) for bag in bags])
    return Embeddings(
        {"model": "eqemb-h", "settings": {"unit_pooling": "mean", "unit_weight": 1.0}},
        {
            "rho_words": np.stack(axes),
            "alpha_words": np.stack(axes),
            "alpha_units": alpha,
            "alpha_equations": equations,
            "rho_equations": equations,
        },
        {"words": words, "equations": forms, "units": list(units)},
    )
