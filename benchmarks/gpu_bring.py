"""Pack the input of `gpu.py` for a machine with a GPU: corpora, splits, and the scores of the CPU.

    python benchmarks/gpu_bring.py LIBRARY gpu-data                  corpora and splits
    python benchmarks/gpu_bring.py LIBRARY gpu-data --scores 5       and CPU scores of the ml
                                                                     collection, with five seeds

Takes the corpora of the paper's vocabulary (`--vocabulary paper`, numbered equations) that
`eqemb compare` left in the library, with their splits. Scores are saved as they are computed, and
existing ones are not computed again.
"""

import argparse
import json
import sys
from pathlib import Path

from eqemb.corpus.corpus import Corpus
from eqemb.corpus.split import Split
from eqemb.models import BernoulliEmbeddings, EqEmbU
from eqemb.models.base import Model
from eqemb.storage.atomic import new_file

MOST = 60_000_000  # bytes: limit of the transfer
BATCHES = ("auto", 4096, 8192, 16_384)
LARGER = (32_768, 65_536, 131_072, 262_144, 524_288)
JUDGED = "ml"


def model(name: str, batch: int | str, **settings: object) -> Model:
    """Return the model that is scored by batch size: words, or equations by their units."""
    kind = {"words": BernoulliEmbeddings, "eqemb-u": EqEmbU}[name]
    return kind(dim=50, window=4, batch=batch, **settings)  # type: ignore[arg-type]


def pairs(library: Path) -> dict[str, tuple[Corpus, Split]]:
    """Return the corpus and the split of each collection, as used for the paper's tables."""
    found = {}
    splits = [Split.load(path.parent) for path in sorted(library.glob("splits/*/*/split.json"))]
    for path in sorted(library.glob("corpus/*/*/corpus.json")):
        settings = json.loads(path.read_text("utf-8"))["settings"]
        if settings["kind"] == "paper" and settings["numbering"] == "numbered":
            corpus = Corpus.load(path.parent)
            for split in splits:
                if split.corpus == corpus.sha256:
                    found[path.parent.parent.name] = corpus, split
    return found


def scores(out: Path, corpus: Corpus, split: Split, seeds: int) -> None:
    """Compute final validation scores by batch size and seed, on this CPU."""
    file = out / "cpu.json"
    found: dict[str, float] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    for name in ("words", "eqemb-u"):
        for batch in BATCHES if name == "words" else BATCHES[:2]:
            for seed in range(seeds):
                key = f"{name} {batch} {seed}"
                if key not in found:
                    made = model(name, batch, device="cpu").fit(corpus, split, seed=seed)
                    found[key] = made.embeddings_.config["validation"]
                    with new_file(file) as new:
                        new.write_text(json.dumps(found, indent=1), "utf-8")
                    print(key, f"{found[key]:.5f}", flush=True)


def main() -> None:
    """Pack the data and print its size."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("library", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--scores", type=int, default=0, metavar="SEEDS")
    given = parser.parse_args()
    found = pairs(given.library)
    if not found:
        sys.exit(f"{given.library} has no corpus of the paper's vocabulary: run eqemb compare")
    for name, (corpus, split) in found.items():
        for part, thing in (("corpus", corpus), ("split", split)):
            if not (given.out / name / part).exists():
                thing.save(given.out / name / part)
    size = sum(path.stat().st_size for path in given.out.rglob("*") if path.is_file())
    print(f"{', '.join(found)}: {size / 1e6:.1f} MB in {given.out}")
    if size > MOST:
        sys.exit(f"this exceeds {MOST / 1e6:.0f} MB: pack fewer collections")
    if given.scores:
        scores(given.out, *found[JUDGED], given.scores)


if __name__ == "__main__":
    main()
