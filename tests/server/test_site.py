"""The MkDocs hooks of the documentation: formulas, links, and no external resources.

`make docs` checks that the whole site builds without warnings.
"""

from types import SimpleNamespace
from typing import Any

import hooks
import pytest
from mkdocs.exceptions import PluginError


def page(path: str) -> Any:
    """The part of a MkDocs page that the hooks use."""
    return SimpleNamespace(file=SimpleNamespace(src_uri=path))


def test_formulas_become_mathml() -> None:
    """Blocks become displays and `$`...`$` becomes inline; other code is unchanged."""
    text = "so\n\n```math\n\\frac{a}{b}\n```\n\nwith $`a_1`$ and `$x$`\n"
    shown = hooks.on_page_markdown(text, page("how/a.md"))
    assert "<mfrac>" in shown
    assert "<msub><mi>a</mi><mn>1</mn></msub>" in shown
    assert "`$x$`" in shown


@pytest.mark.parametrize(
    ("place", "link", "made"),
    [
        ("asking.md", "[w](../benchmarks/weights.py)", "w"),
        ("how/a.md", "[c](../../CONTRIBUTING.md#rules)", "[c](../contributing.md#rules)"),
        ("how/a.md", "[r](../retrieval.md#rankers)", "[r](../retrieval.md#rankers)"),
        ("results.md", "[p](../benchmarks/results/pooled.md)", "[p](data/pooled.md)"),
        ("how/a.md", "[b](b.md)", "[b](b.md)"),
        ("contributing.md", "[t](docs/training.md)", "[t](training.md)"),
        ("contributing.md", "[l](LICENSE)", "l"),
        ("asking.md", "[x](https://arxiv.org/abs/1803.09123)", None),
        ("asking.md", "[f](#families)", None),
        ("asking.md", "![f](pictures/f.svg)", None),
    ],
)
def test_links_are_adapted_to_the_site(place: str, link: str, made: str | None) -> None:
    """Links out of `docs` become text, unless the site includes their page."""
    assert hooks.on_page_markdown(link, page(place)) == (link if made is None else made)


def test_links_in_code_are_unchanged() -> None:
    """A code block is not Markdown."""
    text = "```python\na[b](../c)\n```"
    assert hooks.on_page_markdown(text, page("a.md")) == text


@pytest.mark.parametrize(
    "loading",
    [
        '<script src="https://example.org/a.js"></script>',
        '<link rel="stylesheet" href="//example.org/a.css">',
        "<img alt='a' src='http://example.org/a.png'>",
    ],
)
def test_external_resources_are_rejected(loading: str) -> None:
    """Links to other sites are allowed."""
    fine = '<a href="https://example.org">e</a><script src="js/a.js"></script>'
    assert hooks.on_post_page(fine, page("a.md")) == fine
    with pytest.raises(PluginError, match="loads from elsewhere"):
        hooks.on_post_page(fine + loading, page("a.md"))
