r"""The words that stand in an equation: in `\text{...}`, as names, and as runs of letters."""

import re
from collections.abc import Iterator

from eqemb.article import read_tokens
from eqemb.formula.commands import FUNCTIONS, unescape
from eqemb.formula.layout import Layout
from eqemb.formula.tree import Node, plain_tag, walk

_FEWEST_LETTERS = 3
#: Letters that follow each other are a word only if they could be read aloud: not `xyz`, not `QKV`.
_READABLE = re.compile(r"(?=.*[aeiouyAEIOUY])(?=.*[^aeiouyAEIOUY]).{4,}")
#: Where a capital letter starts a word: `stepNum`, `xP(y)`.
_NEW_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")


def words_of(layout: Layout) -> list[str]:
    r"""Return the words of an equation in the order of its symbols, as written, repeated ones too.

    They are the words of its texts, names such as `\mathrm{BLEU}` and `\operatorname{Attention}`,
    and four or more letters that follow each other on a line (`warmup\_steps`), a vowel among
    them, since many names are written without a command. Other words have three letters or more.
    Names of functions that have a command of their own, such as `\log`, are symbols.

    >>> from eqemb.formula import layout
    >>> words_of(layout(r"\mathrm{softmax}(x)_{\text{the data}} = \log {warmup\_steps}^{2}"))
    ['softmax', 'warmup', 'steps', 'the', 'data']
    """
    found: list[str] = []
    for written in _written(layout.root):
        found += read_tokens(written)[0]
    return [word for word in found if sum(map(str.isalpha, word)) >= _FEWEST_LETTERS]


def _written(root: Node | None) -> Iterator[str]:
    """Yield texts, names and runs of single letters."""
    inside = set[int]()  # letters of a run that was yielded at its first letter
    for node in walk(root):
        kind = node.tag[:2]
        if kind not in {"T!", "V!"}:
            continue
        name = unescape(plain_tag(node.tag)[2:])
        if kind == "T!":
            yield name
        elif node.tag in FUNCTIONS or id(node) in inside:
            continue
        elif len(name) > 1:
            yield name
        else:
            run = list(_run(node))
            inside.update(map(id, run))
            written = _NEW_WORD.split("".join(each.tag[2:] for each in run))
            yield from filter(_READABLE.fullmatch, written)


def _run(node: Node | None) -> Iterator[Node]:
    """Yield a letter and those that follow it; one with a script is the last."""
    while node is not None and _is_letter(node):
        yield node
        node = None if node.kids else node.n


def _is_letter(node: Node) -> bool:
    """Whether a node is one Latin letter of the plain alphabet."""
    name = node.tag[2:]
    return node.tag[:2] == "V!" and len(name) == 1 and name.isascii() and name.isalpha()
