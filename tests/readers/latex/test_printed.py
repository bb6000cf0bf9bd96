"""Small documents, compared with what pdflatex printed for them.

The documents are in `printed/cases.toml`, and pdflatex's answers in `printed/answers.json`, which
`benchmarks/pdflatex_cases.py` writes. No TeX is needed here.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from eqemb.article import Article
from latex_paper import causes, read_files

ANSWERS: dict[str, dict[str, Any]] = json.loads(
    Path(__file__).with_name("printed").joinpath("answers.json").read_text("utf-8")
)


def _number(text: str) -> str:
    return re.sub(r"[\s()\[\]]", "", text)


def _displays(article: Article) -> int:
    """Displays that were read, or reported as drawings."""
    read = len({equation.display for equation in article.equations})
    return read + causes(article).count("drawing in a display")


@pytest.mark.parametrize("name", ANSWERS)
def test_as_pdflatex(name: str) -> None:
    """Numbers, labels, displays and words are those that pdflatex printed."""
    answer = ANSWERS[name]
    article = read_files({"main.tex": answer["source"]})
    numbered = [one for one in article.equations if one.number is not None]
    labels = {label: _number(one.number or "") for one in numbered for label in one.labels}
    assert sorted(_number(one.number or "") for one in numbered) == sorted(answer["numbers"])
    assert {label: labels.get(label, "") for label in answer["labels"]} == answer["labels"]
    assert _displays(article) == answer.get("displays", _displays(article))
    if "words" in answer:
        text = re.sub(r"\$[^$]*\$", " ", article.text)
        assert sorted(re.findall(r"[^\W\d_]+", text)) == sorted(answer["words"])
