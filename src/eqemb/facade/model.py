"""Train the library's own model: EqEmb-H on all papers, optionally with given word vectors."""

import math
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import Split, SplitSettings
from eqemb.errors import UsageError, quoted
from eqemb.library.database import ALL
from eqemb.library.generations import OpenLibrary, read_state
from eqemb.models import likelihood, workspace
from eqemb.models.embeddings import Embeddings
from eqemb.models.eqemb_h import EqEmbH
from eqemb.models.likelihood import LIKELIHOODS

#: Called with the stage and its state, for progress displays.
Watch = Callable[[str, str], object]
READING, LEARNING, INDEXING = "reading", "learning", "indexing"
#: Fewest words of running text that a model is trained on: from fewer, vectors are noise. Above
#: this number, held-out words decide whether the model is kept, because it depends on the papers:
#: 5,357 words of three papers gave far more than chance, 10,126 words of three others did not.
LEAST_WORDS = 5_000


@dataclass(frozen=True)
class ModelPlan:
    """Settings of the library's own model, and the model whose word vectors it uses."""

    settings: Mapping[str, Any]
    base: Embeddings | None = None
    base_path: str = ""

    @classmethod
    def checked(cls, model: bool | Mapping[str, Any], base: str | Path | None) -> "ModelPlan":  # noqa: FBT001
        """Return the plan; raise an error for wrong settings before any paper is read."""
        settings = _checked_settings(model)
        if base is not None:
            words = load_base(Path(base))
            plan = cls(settings, words, str(Path(base).resolve()))
        else:
            plan = cls(settings)
        device = plan.model().check_device()
        if settings.get("device") == "auto":  # record the device, so that a rebuild uses it too
            settings["device"] = device
        return plan

    def model(self) -> EqEmbH:
        """Return the untrained model. Given word vectors are kept, and equations trained second.

        The default device is the CPU, so that a library has the same bytes on every machine.
        """
        settings = {"device": "cpu", **self.settings}
        if self.base is None:
            return EqEmbH(**settings)
        given = {"dim": self.base.words.vector_size, "passes": "two", "words": self.base}
        return EqEmbH(**{**settings, **given})

    def to_json(self) -> dict[str, Any]:
        """Return the plan as it is recorded in the steps of a library."""
        base = None if self.base is None else {"path": self.base_path, "sha256": self.base.sha256}
        return {"settings": dict(self.settings), "base": base}

    def train(self, generation: Path, threads: int, watch: Watch) -> dict[str, Any]:
        """Train the generation's model, or resume its training; return its entry in the report."""
        place, work = generation / "model", generation / "training"
        made, why = None, ""
        watch(LEARNING, "counting words")
        with OpenLibrary(work, generation) as unfinished:
            corpus = workspace.corpus(unfinished)
            if len(corpus.tokens) < LEAST_WORDS:
                why = (
                    f"{len(corpus.tokens):,} words, without stop words, rare words and"
                    f" near-duplicates, are too few to learn from ({LEAST_WORDS:,})"
                )
            elif not corpus.units:
                why = "no equation has a unit to learn from"
            else:
                held = workspace.split(unfinished, ALL, corpus)
                made = self._fit(corpus, held, work, threads, watch)
        if made is not None and (made.config["validation"] or -math.inf) <= chance(made):
            made, why = None, "the model is no better than chance on held-out words"
        if made is None and self.base is not None:
            made, why = self.base, f"{why}: using the base model unchanged"
        if made is not None:
            made.save(place, replace=True)
        return self._summary(made, corpus, why)

    def _fit(
        self, corpus: Corpus, held: Split, work: Path, threads: int, watch: Watch
    ) -> Embeddings:
        model = self.model()
        # the name covers everything that affects the result: other papers, another checkpoint
        checkpoint = work / f"{model.identity(corpus, held, 0)[:12]}.checkpoint"

        def report(iteration: int, _seconds: float, _loss: float, score: float | None) -> None:
            stage = model.history_[-1]["stage"]
            shown = "" if score is None else f", validation {score:.3f}"
            watch(LEARNING, f"{stage}, iteration {iteration} of up to {model.iterations}{shown}")

        watch(LEARNING, "first iteration (compiling)")
        model.fit(
            corpus, held, threads=threads, callback=report, checkpoint=checkpoint, resume=True
        )
        made = model.embeddings_
        if (score := made.config["validation"]) is not None:
            count = len(made.history)
            watch(LEARNING, f"{count:,} iterations, best validation {score:.3f}")
        return made

    def _summary(self, made: Embeddings | None, corpus: Corpus, why: str) -> dict[str, Any]:
        """Return the model's entry in the report."""
        found: dict[str, Any] = {"why": why} if why else {}
        if made is None:
            return found | {"sha256": None}
        found |= describe_model(made, corpus)
        if self.base is not None:
            unknown = count_unknown(self.base, corpus)
            taken = {"taken": len(corpus.words) - unknown["words"], "missing": unknown["words"]}
            found["base"] = {"path": self.base_path, "sha256": self.base.sha256} | taken
        return found


def _checked_settings(model: object) -> dict[str, Any]:
    """Return the settings that were given for the model; refuse those that it does not have."""
    if isinstance(model, bool):
        return {}
    if not isinstance(model, Mapping):
        raise UsageError(
            f"model must be True, False or a dictionary of settings of EqEmbH, not {quoted(model)}"
        )
    known = {entry.name for entry in fields(EqEmbH)}
    for name in model:
        if name not in known:
            raise UsageError(
                f"model must have only settings of EqEmbH, not {quoted(name)}: see"
                " help(eqemb.models.EqEmbH)"
            )
    return dict(model)


def describe_model(made: Embeddings, corpus: Corpus) -> dict[str, Any]:
    """Return what the report says about a library's model; `corpus` is that of the library."""
    return {
        "sha256": made.sha256,
        "validation": made.config["validation"],
        "chance": chance(made),
        "words": len(made.keys["words"]),
        "equations": len(made.keys.get("equations", ())),
        "units": len(made.keys.get("units", ())),
        "lacks": count_unknown(made, corpus),
    }


def chance(made: Embeddings) -> float:
    """Return the validation score of an uninformed model, by the likelihood of this model."""
    nothing = likelihood.zero(1, SplitSettings().negatives)
    return LIKELIHOODS[made.config["settings"].get("reading", "softmax")](nothing).item()


def load_base(path: Path) -> Embeddings:
    """Load the model of a library, or of a model folder, that provides word vectors."""
    place = path
    if read_state(path) is not None:
        with OpenLibrary.open(path) as library:
            place = library.generation / "model"
        if not place.is_dir():
            raise UsageError(
                f"{path} has no model to take word vectors from: build it without --no-model"
            )
    elif not (path / "config.json").is_file():
        raise UsageError(f"{path} is neither a library nor a model folder: name one of them")
    found = Embeddings.verified(place)
    for kind in ("words", "units"):
        found.view(kind)
    return found


def count_unknown(
    model: Embeddings, corpus: Corpus, ignored: Container[str] = frozenset()
) -> dict[str, int]:
    """Count the words and units of a corpus that a model does not have, without ignored words.

    Each kind is counted by distinct keys and by occurrences; units are left out where the model has
    none at all.
    """
    counts = np.bincount(corpus.tokens, minlength=len(corpus.words))
    counts[[place for place, word in enumerate(corpus.words) if word in ignored]] = 0
    units = np.bincount(corpus.unit_ids, minlength=len(corpus.units))
    found: dict[str, int] = {}
    for kind, keys, often in (("words", corpus.words, counts), ("units", corpus.units, units)):
        if kind not in model.keys:
            continue
        known = set(model.keys[kind])
        new = np.array([key not in known for key in keys], bool) & (often > 0)
        found |= {
            kind: int(new.sum()),
            f"all_{kind}": int((often > 0).sum()),
            f"{kind}_occurrences": int(often[new].sum()),
            f"all_{kind}_occurrences": int(often.sum()),
        }
    return found
