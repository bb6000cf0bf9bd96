r"""Words written as letters in mathematics: `loss = ...` is one name and not four symbols.

A product of letters is as long as it needs to be, and says nothing: what tells a word is that it
has a vowel, that its letters are not in the order of the alphabet, or that it has arguments.
"""

from collections.abc import Sequence
from itertools import pairwise

from eqemb.formula.tree import Node

#: Longer rows of letters are not looked at.
MAX_WORD = 24

_SHORT_NAMES = frozenset(
    "KL JS TP FP TN FN aux mix max min exp idf std src tgt emb enc dec AIC BIC MSE MAE RMSE MAP MRR"
    " IDF TPR FPR AUC ROC MLP RNN CNN GRU FFN MSA NLL PMI ELU SGD ERM IoU IOU".split()
)
_VOWELS = frozenset("aeiouAEIOU")
_RARE = frozenset("jkqvwxz")


def word_run(first: Node) -> list[Node]:
    """The letters of a word that starts at a node, or none.

    Only the last one may have scripts.
    """
    if not _is_letter(first):
        return []
    run = [first]
    while len(run) <= MAX_WORD and run[-1].kids is None:
        follower = run[-1].n
        if follower is None or not _is_letter(follower):
            break
        run.append(follower)
    if len(run) < 2 or len(run) > MAX_WORD:
        return []
    after = run[-1].n
    called = after is not None and after.tag.startswith("M!()")
    return run if is_word(name_of(run), called=called) else []


def name_of(run: Sequence[Node]) -> str:
    """The letters of nodes in a row."""
    return "".join(node.tag[2:] for node in run)


def _is_letter(node: Node) -> bool:
    tag = node.tag
    return len(tag) == 3 and tag[:2] == "V!" and "A" <= tag[2] <= "z"


def is_word(name: str, *, called: bool) -> bool:
    """Whether letters in a row are a word, and not a product; `called` is with arguments.

    >>> [is_word(name, called=False) for name in ("loss", "Recall", "xyz", "ABC")]
    [True, True, False, False]
    """
    if name in _SHORT_NAMES:
        return True
    size = len(name)
    if size < 3 or (size < 5 and _is_alphabetical(name)):
        return False
    if name.isupper():
        return called or size > 3
    if not name[1:].islower():
        return called and size > 3
    if _VOWELS.isdisjoint(name) or _VOWELS.issuperset(name):
        return called and size > 3
    if size == 3 and not called:
        return name != name[::-1] and _RARE.isdisjoint(name.lower())
    return name.lower() != name[::-1].lower()


def _is_alphabetical(name: str) -> bool:
    """Whether three letters follow each other as in the alphabet: "xyz", "ijk"."""
    steps = [ord(two) - ord(one) for one, two in pairwise(name.lower())]
    return any(one == two == 1 for one, two in pairwise(steps))
