"""The hooks by which the pages become a site: formulas, links, and nothing from elsewhere.

That the whole site is built without a warning is what `make docs` says.
"""

from types import SimpleNamespace
from typing import Any

import hooks
import pytest
from mkdocs.exceptions import PluginError


def page(path: str) -> Any:
    """A page as MkDocs has it, as far as we look."""
    return SimpleNamespace(file=SimpleNamespace(src_uri=path))


def test_formulas_become_mathml() -> None:
    """A block is a display, and `$`...`$` stands in its line; other code is left alone."""
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
def test_links_fit_the_site(place: str, link: str, made: str | None) -> None:
    """What lies outside `docs` is no link there, but for pages that are taken in."""
    assert hooks.on_page_markdown(link, page(place)) == (link if made is None else made)


def test_links_in_code_are_code() -> None:
    """A block is left as it is."""
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
def test_a_page_that_needs_a_network_is_refused(loading: str) -> None:
    """A link that people follow is none."""
    fine = '<a href="https://example.org">e</a><script src="js/a.js"></script>'
    assert hooks.on_post_page(fine, page("a.md")) == fine
    with pytest.raises(PluginError, match="loads from elsewhere"):
        hooks.on_post_page(fine + loading, page("a.md"))
