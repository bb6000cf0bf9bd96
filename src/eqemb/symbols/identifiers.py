r"""Symbols of a formula from its layout tree.

A symbol is a letter or a name with its decorations: accents, primes, indices. Transposition,
inverses and powers are operations on a symbol and not part of it. Named functions (`\log`,
softmax), sets of numbers and the differential are no symbols. Nothing here recurses: a tree may be
100,000 deep, and only the first `MAX_SYMBOL_NODES` nodes of scripts count for a key.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from eqemb.formula import Layout
from eqemb.formula.commands import BIG, FUNCTIONS, INTEGRALS
from eqemb.formula.tree import Node, baseline, children
from eqemb.formula.write_latex import to_latex
from eqemb.symbols.model import Role, Symbol
from eqemb.symbols.words import name_of, word_run

#: Nodes of a script that a key may have; a longer script is not an index.
MAX_SYMBOL_NODES = 24

_CLOSED = frozenset("ℝℕℤℂℚ𝔼∞∅…⋯⋮⋱#ℏ")
NAMED_FUNCTIONS = FUNCTIONS | frozenset(
    "V!" + name
    for name in (
        "softmax sigmoid sigm relu ReLU elu ELU gelu GELU tanh Softmax Sigmoid Var var Cov cov Corr"
        " corr diag Diag sign Sign vec concat Concat mean Mean median sup inf lim limsup liminf erf"
        " mod det span Span supp conv prox proj argsup arginf ess round card trace logit logsumexp"
        " LSE otherwise if for and or where with such that subject to else st is the in of on all"
        " const constant minimize maximize minimise maximise"
    ).split()
)
#: Scripts above a symbol that are operations on it.
_OPERATIONS = frozenset({"⊤", "†", "V!T", "V!⊤", "V!⊺", "⊺", "V!H", "V!t⊤", "′⊤", "°"})
RELATION_TAGS = frozenset("=∈∉∼≈≡∝:;<>≤≥≪≫≠⊂⊆⊃⊇→↦⟶←≜≝≐∣|⟹⇒⇔⊢⩽⩾↔∋") | {":=", "∷", "=:"}
_BINDING = BIG - INTEGRALS | {"lim", "limsup", "liminf", "V!lim"}
_INDEX_MARKS = frozenset({"&comma;", "−", "+", "V!…", "V!⋯", ":", "/", ".", "⋅", "*", "-"})
INDEX_DASH = "·"
DOTS = frozenset({"V!…", "V!⋯"})
_NO_EDGES: frozenset[str] = frozenset()
_SCRIPT_EDGES = frozenset("bouacd")
_SPACING = frozenset({"space", "row", "cell"})


def symbols_of(made: Layout) -> list[Symbol]:
    r"""The symbols of a formula, in reading order; each once, with all its places.

    >>> [symbol.latex for symbol in symbols_of(layout(r"\hat\theta_i = \log f(x_i)"))]
    [r'\hat{\theta}_i', 'f', 'x_i', 'i']
    """
    nodes = made.nodes()
    index = {id(node): place for place, node in enumerate(nodes)}
    bound = set(_bound(nodes))
    found: dict[str, tuple[Symbol, list[int], set[Role]]] = {}
    for node, role, own, word in _identifiers(made.root):
        key, _ = _keys(node, own, name_of(word))
        if key not in found:
            found[key] = (make_symbol(node, word), [], set())
        found[key][1].extend(index[id(letter)] for letter in word or (node,))
        found[key][2].add(role)
    return [
        Symbol(one.key, one.latex, one.general, one.base, _main(roles, one, bound), tuple(places))
        for one, places, roles in found.values()
    ]


def _main(roles: set[Role], symbol: Symbol, bound: set[str]) -> Role:
    order: tuple[Role, ...] = ("bound", "function", "variable", "index")
    if symbol.key in bound:
        return "bound"
    return next(role for role in order if role in roles)


def _identifiers(
    root: Node | None,
) -> Iterator[tuple[Node, Role, frozenset[str], Sequence[Node]]]:
    """The nodes that are letters of symbols, each with its role and the edges it owns.

    The node of a word is its last letter, and all its letters come with it.
    """
    stack: list[tuple[Node, Role, bool]] = [(root, "variable", False)] if root else []
    integral = False
    while stack:
        node, role, differential = stack.pop()
        integral = integral or node.tag in INTEGRALS
        named = is_identifier(node)
        word: Sequence[Node] = ()
        if named and node.n is not None and node.kids is None and len(node.tag) == 3:
            word = word_run(node)
            if integral and len(word) < 6 and [one.tag for one in word[-2:-1]] == ["V!d"]:
                word = ()  # the end of an integral: "a u d v"
            if word:
                node = word[-1]
                named = "V!" + name_of(word) not in NAMED_FUNCTIONS
        kept = _own_edges(node) if named else _NO_EDGES
        if named and (word or not _is_differential(node, integral=integral or differential)):
            applied = role == "variable" and _is_applied(node)
            yield node, ("function" if applied else role), kept, word
        if node.kids is None:
            if node.n is not None:
                stack.append((node.n, role, False))
            continue
        after: list[tuple[Node, Role, bool]] = []
        for edge, child in children(node):
            below: Role = "index" if edge in kept else role
            if (edge in kept and not _is_index(child)) or _is_transposition(edge, child):
                continue
            after.append((child, below, node.tag == "O!divide" and edge in "ou"))
        stack.extend(reversed(after))


def is_identifier(node: Node) -> bool:
    """Whether a node is the letter or name of a symbol."""
    tag = node.tag
    if tag[:2] == "T!":
        return _is_name(tag[2:]) and "V!" + tag[2:] not in NAMED_FUNCTIONS and _called(node)
    if tag[:2] != "V!" or tag in NAMED_FUNCTIONS or tag[2:] in _CLOSED:
        return False
    if tag == "V!e" and node.kids is not None and node.kids.keys() == {"a"}:
        return not _is_power(node.kids["a"])
    return tag[2:3].isalpha() or tag[2:3] == "\\"


def _is_name(text: str) -> bool:
    return len(text) < 24 and text.replace("-", "").isalnum() and not text[:1].isdigit()


def _called(node: Node) -> bool:
    """Whether a name in text is used like a symbol: with arguments or scripts."""
    return node.kids is not None or (node.n is not None and node.n.tag.startswith("M!()"))


def _is_applied(node: Node) -> bool:
    """Whether a letter stands before its arguments: `f(x, y)`, but not `a(b + c)`."""
    follower = node.n
    if follower is None or not follower.tag.startswith("M!()") or node.tag[2:3].isdigit():
        return False
    inside = follower.get("w")
    return not any(part.tag in "+−" for part in baseline(inside) if part.tag)


def _is_differential(node: Node, *, integral: bool) -> bool:
    return (
        integral
        and node.tag == "V!d"
        and not (node.kids and "b" in node.kids)
        and node.n is not None
        and node.n.tag[:2] == "V!"
    )


def _bound(nodes: list[Node]) -> Iterator[str]:
    """Keys of the letters that sums, products, limits and integrals bind."""
    integral = any(node.tag in INTEGRALS for node in nodes)
    for node in nodes:
        tag, follower = node.tag, node.n
        if tag in _BINDING:
            yield from _heads(node.get("u") or node.get("b"))
        elif tag[:3] in {"M!{", "M!("} and node.kids and "b" in node.kids:
            script = node.kids["b"]
            if script.n is not None and script.n.tag in {"=", "∈"}:
                yield from _heads(script)
        elif follower is None:
            continue
        elif tag in {"∀", "∃"}:
            yield from _heads(follower)
        elif follower.tag == "=" and _counts(follower.n):
            yield from _heads(node)
        elif integral and _is_differential(node, integral=True):
            yield symbol_key(follower)


def _counts(node: Node | None) -> bool:
    r"""Whether a row is the start of `1, \dots, n`."""
    row = [part.tag for part, _ in zip(baseline(node), range(5), strict=False)]
    return bool(DOTS & set(row)) and row[0][:2] == "N!" and "&comma;" in row


def _heads(node: Node | None) -> Iterator[str]:
    """The letters before the first relation of a row."""
    for part in first_nodes(baseline(node)):
        if part.tag in RELATION_TAGS:
            return
        if is_identifier(part):
            yield symbol_key(part)
        elif part.tag.startswith(("M!(", "M!1x1")):
            inside = first_nodes(baseline(part.get("w")))
            yield from (symbol_key(one) for one in inside if is_identifier(one))


# ---------------------------------------------------------------- keys


def _own_edges(node: Node) -> frozenset[str]:
    """The edges of a symbol's node that belong to the symbol."""
    kids = node.kids
    if kids is None:
        return _NO_EDGES
    own = kids.keys() & _SCRIPT_EDGES
    if "a" in own and (_is_power(kids["a"]) or not _is_short(kids["a"])):
        own.discard("a")
    if "b" in own and not _is_short(kids["b"]):
        own.discard("b")
    return frozenset(own)


def _is_power(script: Node) -> bool:
    """Whether a script above is an operation: a number, a transposition, an inverse, a sum."""
    row = list(first_nodes(baseline(script)))
    tags = [node.tag for node in row]
    if all(tag[:2] == "N!" or tag in _OPERATIONS or tag in "+−/." for tag in tags):
        return tags not in (["+"], ["−"])
    if tags[0] == "−":
        return True
    return any(tag in {"O!divide", "/", "⋅", "×"} or tag[:2] in {"R!", "O!"} for tag in tags)


def _is_transposition(edge: str, script: Node) -> bool:
    return edge == "a" and script.tag in _OPERATIONS and script.n is None


def _is_short(script: Node) -> bool:
    if script.n is None and script.kids is None:
        return True
    stack, count = [script], 0
    while stack:
        node = stack.pop()
        count += 1
        if count > MAX_SYMBOL_NODES:
            return False
        stack.extend(child for _, child in children(node))
    return True


def first_nodes(nodes: Iterable[Node]) -> Iterator[Node]:
    """As many nodes as count for a key."""
    return (node for node, _ in zip(nodes, range(MAX_SYMBOL_NODES), strict=False))


def make_symbol(node: Node, word: Sequence[Node] = ()) -> Symbol:
    """The symbol whose letter a node is, or the last letter of which it is."""
    own = _own_edges(node)
    if not word:
        exact, general = _keys(node, own)
        return Symbol(exact, _latex(node, own), general, _letter(node.tag))
    name = name_of(word)
    exact, general = _keys(node, own, name)
    named = Node("V!" + name)
    if own and node.kids is not None:
        named.kids = {edge: child for edge, child in node.kids.items() if edge in own}
    return Symbol(exact, to_latex(named) if own else name, general, name)


def symbol_key(node: Node) -> str:
    """The key of the symbol whose letter a node is."""
    return _keys(node, _own_edges(node))[0]


def _keys(node: Node, own: frozenset[str], name: str = "") -> tuple[str, str]:
    """The key of a symbol, and the key without letters and numbers of its indices."""
    exact = general = name or _letter(node.tag)
    if node.kids is None or not own:
        return exact, general
    for edge in "oucdba":
        if edge not in own:
            continue
        child = node.kids[edge]
        text = f"{_SCRIPT_MARK[edge]}{{{_row_key(child)}}}"
        exact += text
        is_index = edge in "ab" and not _is_prime(child) and _is_index(child)
        general += f"{_SCRIPT_MARK[edge]}{{{INDEX_DASH}}}" if is_index else text
    return exact, general


_SCRIPT_MARK = {"o": "^^", "u": "__", "a": "^", "b": "_", "c": "<^", "d": "<_"}


@lru_cache(maxsize=4096)
def _letter(tag: str) -> str:
    """The letter of a tag; italic bold letters are bold ones."""
    return "".join(map(_upright, tag[2:]))


def _upright(char: str) -> str:
    code = ord(char)
    if 0x1D468 <= code <= 0x1D49B:  # bold italic Latin -> bold
        return chr(code - 0x68)
    if 0x1D71C <= code <= 0x1D755:  # bold italic Greek -> bold Greek
        return chr(code - 0x74) if code >= 0x1D736 else char
    return {"ε": "ϵ", "φ": "ϕ"}.get(char, char)


def _row_key(script: Node) -> str:
    parts: list[str] = []
    stack: list[Node | str] = [script]
    while stack and len(parts) < 4 * MAX_SYMBOL_NODES:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        tag = item.tag
        if tag[:2] in {"V!", "T!", "N!"}:
            parts.append(_letter(tag))
        elif tag[:2] == "M!":
            parts.append("." if "(" in tag else "")
        else:
            parts.append("," if tag == "&comma;" else tag)
        for edge, child in reversed(children(item)):
            if edge in "ne":
                stack.append(child)
            else:
                stack.extend(["}", child, f"{_SCRIPT_MARK.get(edge, edge)}{{"])
    return "".join(parts)


def _is_prime(script: Node) -> bool:
    return script.tag[:1] == "′" or script.tag in {"*", "⋆", "†"}


def _is_index(script: Node) -> bool:
    """Whether a script holds only small letters and numbers: `i`, `t-1`, `(k)`, but not `hh`."""
    row = list(first_nodes(baseline(script)))
    if len(row) == 1 and row[0].tag[:4] == "M!()":
        row = list(first_nodes(baseline(row[0].get("w"))))
    return _is_index_row(tuple([node.tag for node in row]))


@lru_cache(maxsize=1 << 14)
def _is_index_row(tags: tuple[str, ...]) -> bool:
    words = "".join(tag[2:] if tag[:2] == "V!" else " " for tag in tags)
    if any(len(word) > 1 and not set(word) <= set("ijklmnpqrst") for word in words.split()):
        return False
    return all(
        tag in _INDEX_MARKS
        or tag[:2] == "N!"
        or (tag[:2] == "V!" and len(tag) == 3 and tag[2].islower())
        for tag in tags
    )


def _latex(node: Node, own: frozenset[str]) -> str:
    """LaTeX of a symbol alone."""
    look = {name: hint for name, hint in (node.look or {}).items() if name not in _SPACING}
    if not own and not look:
        return _letter_latex(node.tag)
    scripts = {edge: child for edge, child in (node.kids or {}).items() if edge in own}
    if not look and all(_is_plain(child) for child in scripts.values()):
        return _letter_latex(node.tag, *((edge, child.tag) for edge, child in scripts.items()))
    alone = Node(node.tag, look)
    alone.kids = scripts or None
    return to_latex(alone)


def _is_plain(script: Node) -> bool:
    """Whether a script is one symbol without hints, as most are."""
    return script.n is None and script.kids is None and not script.look


@lru_cache(maxsize=1 << 14)
def _letter_latex(tag: str, *scripts: tuple[str, str]) -> str:
    """LaTeX of a letter with plain scripts, given their edges and tags."""
    alone = Node(tag)
    for edge, script in scripts:
        alone.put(edge, Node(script))
    return to_latex(alone)
