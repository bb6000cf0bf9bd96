"""The tree of a page: what browsers make of tags that are missing, crossed or broken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqemb.readers.html.tree import Element, Text, descendants, parse, text_content


def outline(source: str, *, is_xml: bool = False) -> str:
    """A page as nested names and texts: `p(a b(c))`."""

    def inside(element: Element) -> str:
        return " ".join(
            node.data.strip() if isinstance(node, Text) else f"{node.name}({inside(node)})"
            for node in element.children
            if isinstance(node, Element) or node.data.strip()
        )

    return inside(parse(source, is_xml=is_xml))


@pytest.mark.parametrize(
    ("source", "tree"),
    [
        ("<p>a<b>c</b></p>d", "p(a b(c)) d"),
        ("<p>a<p>b<div>c</div>", "p(a) p(b) div(c)"),
        ("<ul><li>a<li>b<ul><li>c</ul></ul>", "ul(li(a) li(b ul(li(c))))"),
        ("<dl><dt>a<dd>b<dt>c</dl>", "dl(dt(a) dd(b) dt(c))"),
        ("<table><tr><td>a<td>b<tr><td>c</table>d", "table(tr(td(a) td(b)) tr(td(c))) d"),
        ("<p>a<table><td>b</p>c</table>", "p(a) table(td(b c))"),
        ("<b><p>a</b>b</p>c", "b(p(a b) c)"),
        ("<div>a</span></x>b</div>c", "div(a b) c"),
        ("a<br>b<img src=x>c", "a br() b img() c"),
        ("<h1>a<h2>b</h2>", "h1(a) h2(b)"),
        ("<head><title>a</title><div>b</div>", "head(title(a)) div(b)"),
        ("<SPAN>a</Span>b", "span(a) b"),
    ],
)
def test_elements_end_where_browsers_end_them(source: str, tree: str) -> None:
    """End tags may be missing, and stray ones have no effect."""
    assert outline(source) == tree


@pytest.mark.parametrize(
    ("source", "tree"),
    [
        ("a<!-- <p> -->b", "a b"),
        ("a<!-- <p>", "a"),
        ("<!DOCTYPE html><?php x ?>a", "a"),
        ("<![CDATA[a <b> c]]>d", "a <b> c d"),
        ("<script>a <b> c</script>d", "script(a <b> c) d"),
        ("<style>a</style >b<script>c", "style(a) b script(c)"),
        ("x < y, x <y and <z", "x < y, x <y and <z"),
        ("x<y$ a", "x<y$ a"),
        ("a &lt; b &amp;c &#955; &unknown; &#x3c;p>", "a < b &c λ &unknown; <p>"),
    ],
)
def test_what_is_not_an_element_is_text_or_nothing(source: str, tree: str) -> None:
    """Comments, declarations, scripts, signs and entities."""
    assert outline(source) == tree


def test_a_number_too_long_for_a_character_is_text() -> None:
    """Python refuses to convert so many digits."""
    assert outline("&#" + "9" * 5000 + ";").startswith("&#999")


def test_attributes() -> None:
    """Quoted, unquoted, empty, repeated, with entities, and with signs inside."""
    (element,) = parse("""<a b="x > y" C='&lt;"' d=e f class="g h" b=2 i = j>k</a>""").children
    assert isinstance(element, Element)
    assert element.attributes == {
        "b": "x > y", "c": '<"', "d": "e", "f": "", "class": "g h", "i": "j",
    }  # fmt: skip
    assert element.classes == {"g", "h"}


def test_mathml_is_kept_as_source() -> None:
    """A formula has no children, and may have a prefix; an unclosed one is an element."""
    source = "<p><m:math><m:mi>x</m:mi></m:math>a</p><math><mi>b</mi>"
    formula, unclosed = (
        node
        for node in descendants(parse(source))
        if isinstance(node, Element) and node.name.endswith("math")
    )
    assert (formula.children, source[formula.start : formula.end]) == (
        [], "<m:math><m:mi>x</m:mi></m:math>",
    )  # fmt: skip
    assert text_content(unclosed) == "b"


def test_whole_elements_of_xml() -> None:
    """In HTML the sign "/" at the end of a tag has no meaning."""
    assert outline("<div/>a", is_xml=True) == "div() a"
    assert outline("<div/>a") == "div(a)"


def test_deep_nesting() -> None:
    """The depth is not limited, and no function calls itself."""
    depth = 5_000
    root = parse("<div>" * depth + "a")
    assert len(list(descendants(root))) == depth + 1
    assert text_content(root) == "a"


@given(st.lists(st.sampled_from("<p> </p> <b> </b> <table> <td> </table> <li> <a x='> ' <!-- --> "
                                "<math> </math> <script> </script> & < > a".split())))  # fmt: skip
def test_any_tags_make_a_tree(parts: list[str]) -> None:
    """Every element lies inside its parent, and elements are in the order of the source."""
    root = parse("".join(parts))
    last = 0
    for node in descendants(root):
        assert node.start >= last
        last = node.start
        if isinstance(node, Element) and node.parent is not None:
            assert node.parent.start <= node.start <= node.end <= node.parent.end
