"""Training of the base model: two bags of features, equations and text, in one space of vectors.

`base_model.py train` calls this; it needs PyTorch and takes seconds on a GPU, minutes on a CPU.
An equation is the sum of the vectors of its features, a text the sum of the vectors of its stems;
lengths are learned too, so that a feature that says nothing becomes short. Two kinds of signal:
*contrast*, an equation should be nearer to its own context, heading and neighbours than to those
of others in the batch; and *distillation*, the likenesses within a batch should be those that a
sentence encoder sees between the LaTeX of the equations and between the texts around them.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

Array = NDArray[Any]

#: What each signal weighs. A name says which sides are compared: e equation, c context,
#: h heading, n another equation of the same section; "like" is distillation.
CONTRAST = {"ec": 1.0, "eh": 1.0, "en": 0.5, "ch": 0.5}
DISTIL = {"like_e": 4.0, "like_c": 2.0, "like_hc": 1.0, "like_wc": 1.0}


@dataclass(frozen=True)
class Training:
    """Settings of a training run."""

    dim: int = 96
    epochs: int = 30
    batch: int = 2048
    rate: float = 0.005
    temperature: float = 0.05
    sharpness: float = 0.05
    """The temperature of the sentence encoder's likenesses."""
    dropout: float = 0.1
    seed: int = 1
    contrast: dict[str, float] = field(default_factory=lambda: dict(CONTRAST))
    distil: dict[str, float] = field(default_factory=lambda: dict(DISTIL))


class Bags:
    """Weighted bags of ids, as pointers, ids and weights."""

    def __init__(self, arrays: tuple[Array, Array, Array], device: str) -> None:
        pointers, ids, weights = arrays
        self.pointers = torch.as_tensor(pointers.astype(np.int64), device=device)
        self.ids = torch.as_tensor(ids.astype(np.int64), device=device)
        self.weights = torch.as_tensor(weights.astype(np.float32), device=device)

    def vectors(self, table: Tensor, rows: Tensor, dropout: float = 0.0) -> Tensor:
        """Return the normalised sum of each bag; `dropout` is the share of entries left out."""
        start = self.pointers[rows]
        count = self.pointers[rows + 1] - start
        offsets = torch.cumsum(count, 0) - count
        at = torch.arange(int(count.sum()), device=rows.device)
        at = at + torch.repeat_interleave(start - offsets, count)
        weights = self.weights[at]
        if dropout:
            weights = weights * (torch.rand(len(weights), device=rows.device) >= dropout)
        made = functional.embedding_bag(
            self.ids[at], table, offsets, mode="sum", per_sample_weights=weights
        )
        return functional.normalize(made, dim=1, eps=1e-6)


def contrast(one: Tensor, other: Tensor, positive: Tensor, temperature: float) -> Tensor:
    """InfoNCE in both directions; other pairs of `positive` (a mask) are not negatives."""
    logits = one @ other.T / temperature
    wanted = torch.arange(len(one), device=one.device)
    others = positive & ~torch.eye(len(one), dtype=torch.bool, device=one.device)
    logits = logits.masked_fill(others, -1e4)
    loss: Tensor = functional.cross_entropy(logits, wanted)
    return loss + functional.cross_entropy(logits.T, wanted)


def distil(one: Tensor, other: Tensor, likeness: Tensor, settings: Training) -> Tensor:
    """Cross-entropy of the batch's likenesses and the sentence encoder's, as distributions."""
    wanted = functional.softmax(likeness / settings.sharpness, dim=1)
    logits = one @ other.T / settings.temperature
    return -(wanted * functional.log_softmax(logits, dim=1)).sum(dim=1).mean()


def train(data: dict[str, Any], settings: Training, device: str = "cpu") -> dict[str, Array]:
    """Return the vectors of features and of stems.

    `data` has the bags of each equation ("equations", "contexts", "headings"), of single words
    ("words"), a number for each section ("sections"), the document frequencies ("feature_counts",
    "stem_counts") and the sentence encoder's vectors of all of them ("teacher_...").
    """
    torch.manual_seed(settings.seed)
    random = np.random.default_rng(settings.seed)
    bags = {name: Bags(data[name], device) for name in ("equations", "contexts", "headings")}
    words = Bags(data["words"], device)
    teacher = {
        name: functional.normalize(torch.as_tensor(data[f"teacher_{name}"]).float().to(device))
        for name in ("equations", "contexts", "headings", "words")
    }
    sections = torch.as_tensor(data["sections"], device=device)
    count = len(sections)
    tables = {
        "features": _initial(data["feature_counts"], count, settings, random),
        "stems": _initial(data["stem_counts"], count, settings, random),
    }
    if any(settings.distil.values()):  # words start where the encoder has them
        start = functional.normalize(torch.as_tensor(data["stem_start"]).float())
        _, _, basis = torch.linalg.svd(start, full_matrices=False)
        lengths = tables["stems"].norm(dim=1, keepdim=True)
        known = start.norm(dim=1) > 0
        placed = functional.normalize(start @ basis[: settings.dim].T) * lengths
        tables["stems"][known] = placed[known]
    features, stems = (table.to(device).requires_grad_() for table in tables.values())
    optimiser = torch.optim.Adam([features, stems], lr=settings.rate)
    steps = max(1, count // settings.batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, settings.rate, total_steps=steps * settings.epochs, pct_start=0.1
    )
    neighbour = _neighbours(data["sections"])
    for _ in range(settings.epochs):
        order = torch.as_tensor(random.permutation(count), device=device)
        for step in range(steps):
            rows = order[step * settings.batch : (step + 1) * settings.batch]
            near = torch.as_tensor(neighbour(rows.cpu().numpy(), random), device=device)
            some = torch.as_tensor(
                random.integers(0, len(data["words"][0]) - 1, settings.batch), device=device
            )
            drop = settings.dropout
            sides = {
                "e": bags["equations"].vectors(features, rows, drop),
                "n": bags["equations"].vectors(features, near, drop),
                "c": bags["contexts"].vectors(stems, rows, drop),
                "h": bags["headings"].vectors(stems, rows),
                "w": words.vectors(stems, some),
            }
            same = sections[rows][:, None] == sections[rows]
            loss = torch.zeros((), device=device)
            for name, weight in settings.contrast.items():
                if weight:
                    one, other = (sides[side] for side in name)
                    loss = loss + weight * contrast(one, other, same, settings.temperature)
            for name, weight in settings.distil.items():
                if weight:
                    loss = loss + weight * _like(name, sides, teacher, rows, some, settings)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    return {
        "features": features.detach().cpu().numpy(),
        "stems": stems.detach().cpu().numpy(),
    }


def _like(
    name: str,
    sides: dict[str, Tensor],
    teacher: dict[str, Tensor],
    rows: Tensor,
    some: Tensor,
    settings: Training,
) -> Tensor:
    names = {"e": "equations", "c": "contexts", "h": "headings", "w": "words"}
    both = name.removeprefix("like_")
    one, other = both[0], both[-1]
    taught = [teacher[names[side]][some if side == "w" else rows] for side in (one, other)]
    likeness = taught[0] @ taught[1].T
    if one == other:  # itself says nothing
        eye = torch.eye(len(rows), dtype=torch.bool, device=rows.device)
        likeness = likeness.masked_fill(eye, -10)
        logits = sides[one] @ sides[other].T / settings.temperature
        logits = logits.masked_fill(eye, -1e4)
        wanted = functional.softmax(likeness / settings.sharpness, dim=1)
        return -(wanted * functional.log_softmax(logits, dim=1)).sum(dim=1).mean()
    return distil(sides[one], sides[other], likeness, settings)


def _initial(counts: Array, total: int, settings: Training, random: Any) -> Tensor:
    """Return random vectors whose lengths are the idfs."""
    made = random.standard_normal((len(counts), settings.dim)) / np.sqrt(settings.dim)
    return torch.as_tensor(made * np.log(total / np.maximum(counts, 1))[:, None]).float() * 0.3


def _neighbours(sections: Array) -> Any:
    """Return a function that draws another equation of the section of each."""
    order = np.argsort(sections, kind="stable")
    ranked = sections[order]
    first, last = np.searchsorted(ranked, sections), np.searchsorted(ranked, sections, "right")

    def draw(rows: Array, random: Any) -> Array:
        drawn: Array = order[random.integers(first[rows], last[rows])]
        return drawn

    return draw
