"""Eight of the demo articles: enough to train on, and fast to read."""

import shutil
from pathlib import Path

import eqemb

DEMO = Path(eqemb.__file__).parent / "demo"
FEW = [
    *("ir/bm25.tex", "ir/cosine", "ir/f-measure.tex", "nlp/lstm.tex"),
    *("ml/mixtures", "ai/q-learning.tex", "nlp/skip-gram", "nlp/topics.tex"),
]


def copy_articles(folder: Path, articles: list[str] = FEW) -> Path:
    """Copy articles into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for article in articles:
        path = DEMO / article
        copy = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, folder / path.name)
    return folder
