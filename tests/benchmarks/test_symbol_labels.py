"""Readers see every character at its offset; their answers are joined, compared and scored."""

import json
from pathlib import Path
from typing import Any

import pytest
import symbol_labels
import symbol_sample
from symbol_labels import Label, Mark

from eqemb import Library
from eqemb.article import EQUATION_MARK, Article, Equation
from eqemb.formula import layout
from eqemb.symbols import Glossary, symbols_of
from few_articles import copy_articles

SENTENCE = f"The gain is {EQUATION_MARK}, where $w$ is the width of the gate."
TEXT = f"Gates\n\nA first line.\n{SENTENCE}\n\nThe width $w$ of the gate is small."


def equation(ordinal: int, latex: str) -> Equation:
    """An equation of the article below."""
    return Equation(
        article="ml/gates", ordinal=ordinal, numbered=True, number=str(ordinal), labels=[],
        environment="equation", display=ordinal, latex=latex, expanded=latex, file="gates.tex",
        line=1, end_line=1,
    )  # fmt: skip


def gates() -> Article:
    """An article with one equation and two definitions of one symbol."""
    return Article("ml/gates", "gates.tex", "ml", "Gates", text=TEXT, sections=["Gates"],
                   equations=[equation(1, "g = \\hat{w} +  w")])  # fmt: skip


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of some demo articles."""
    folder = tmp_path_factory.mktemp("symbols")
    Library.read([copy_articles(folder / "papers")], folder / "library").close()
    return folder / "library"


def entry(**changes: Any) -> dict[str, Any]:
    """A form's entry for the article above."""
    return {
        "paper": "ml/gates", "equation": "ml/gates#1", "symbol": "w", "defined": "yes",
        "line": TEXT.index(SENTENCE), "quote": "width of the gate", "also": [], "doubt": "",
        **changes,
    }  # fmt: skip


def label(a: Mark, b: Mark, article: str = "ml/gates") -> Label:
    """A label of the symbol above."""
    return Label(f"{article}#1", "w", symbol_labels.checksum(TEXT), a, b)


# ------------------------------------------------------------ what readers see


def test_a_display_is_shown_and_is_one_character() -> None:
    """A quote after a display has the offsets of the text, in which the display is one mark."""
    lines = symbol_sample.shown_lines(gates())
    assert lines[2].text.startswith("The gain is ⟦EQ 1 (1): g = \\hat{w} + w⟧, where $w$")
    start, end = symbol_sample.find_quote(lines, TEXT.index(SENTENCE), "width  of\nthe gate")
    assert TEXT[start:end] == "width of the gate"
    assert start == TEXT.index("width of the gate")
    start, end = symbol_sample.find_quote(lines, TEXT.index(SENTENCE), "+ w⟧, where")
    assert TEXT[start:end] == f"{EQUATION_MARK}, where"


def test_quotes_that_are_wrong() -> None:
    """A quote must stand once in the line that is named."""
    lines = symbol_sample.shown_lines(gates())
    with pytest.raises(ValueError, match="no line begins at 3"):
        symbol_sample.find_quote(lines, 3, "Gates")
    with pytest.raises(ValueError, match="does not have 'depth'"):
        symbol_sample.find_quote(lines, 0, "depth")
    with pytest.raises(ValueError, match="2 times: quote more words"):
        symbol_sample.find_quote(lines, TEXT.index(SENTENCE), "the")


def drawn(article: Article) -> list[symbol_sample.DrawnSymbol]:
    """The first symbol of the first equation."""
    symbol = symbols_of(layout(article.equations[0].expanded))[0]
    return [symbol_sample.DrawnSymbol(article.name, 1, symbol)]


def test_the_written_paper() -> None:
    """It names what is asked, marks the equation, and every line is the text at its offsets."""
    written = symbol_sample.write_paper(gates(), drawn(gates()))
    symbol_sample.check_offsets(written, gates())
    assert "  g   in ml/gates#1, at offset" in written
    assert ">>>>> the next line has EQ 1, ASKED: g\n[21-" in written
    assert "[...]" not in written
    with pytest.raises(AssertionError, match="the line at 7"):
        symbol_sample.check_offsets(written.replace("A first", "A worse"), gates())


def test_a_long_paper_is_cut() -> None:
    """What has the letter of the symbol, is near the equation or is about notation is kept."""
    filler = [f"Nothing is said in sentence {number} of many." for number in range(60)]
    filler[20] = "Here $g_2$ is the gain."
    filler[40] = "Here $\\log h$ has no such letter."
    article = gates()
    article.text = "\n\n".join(
        [*filler[:50], SENTENCE, *filler[50:], "Notation", "We write little."]
    )
    article.sections = ["Notation"]
    written = symbol_sample.write_paper(article, drawn(article), limit=1000)
    symbol_sample.check_offsets(written, article)
    for kept in ("sentence 0 of", "gain.", "sentence 49 of", "sentence 51 of", "write little"):
        assert kept in written
    for left in ("sentence 30 of", "\\log h", "sentence 58 of"):
        assert left not in written
    assert written.count("\n[...]\n") == 3
    assert len(written) < 1500


def test_letters() -> None:
    """Decorations are no letters, and letters of a command's name are not in a formula."""
    assert symbol_sample.letters_of("\\hat{\\mathbf{x}}_i") == "x"
    assert symbol_sample.letters_of("\\mathrm{gain}") == "gain"
    assert symbol_sample.has_letters("\\gain_t", "gain")
    assert symbol_sample.has_letters("\\mathbf{x}", "x")
    assert not symbol_sample.has_letters("\\max \\xi", "x")
    assert not symbol_sample.has_letters("\\theta", "\\th")


def test_draws() -> None:
    """Collections take turns; a copy and a paper with few symbols are passed over."""
    articles: list[Article] = []
    for name in ("ai/a", "ai/b", "ml/c", "ml/d", "ml/e"):
        article = gates()
        article.name, article.collection = name, name[:2]
        words = " ".join(f"{name[-1]}{number}" for number in range(60))
        article.text = words if name != "ml/d" else articles[2].text
        article.equations = [equation(at, f"{'pqrst'[at]}_i = 1") for at in range(5)]
        articles.append(article)
    articles[0].equations = [equation(at, "p = 1") for at in range(5)]
    found = symbol_sample.draw_symbols(articles, seed=1, papers=3, each=5)
    assert set(found) in ({"ai/b", "ml/c", "ml/e"}, {"ai/b", "ml/d", "ml/e"})
    for name, symbols in found.items():
        assert {one.symbol.latex for one in symbols} == {"p_i", "q_i", "r_i", "s_i", "t_i"}
        assert symbols[0].equation == f"{name}#1"
    few = symbol_sample.draw_symbols(articles, seed=1, papers=2, each=3)
    assert [name[:2] for name in few] == ["ai", "ml"]
    assert few == symbol_sample.draw_symbols(articles[::-1], seed=1, papers=2, each=3)


# ------------------------------------------------------------ answers


def test_a_form_is_checked() -> None:
    """Quotes become offsets, the best first; text of the paper is not kept."""
    place = {"line": TEXT.rindex("The width"), "quote": "width"}
    found = symbol_labels.check_entry(entry(also=[place]), gates())
    assert TEXT[found["start"] : found["end"]] == "width of the gate"
    assert [TEXT[start:end] for start, end in found["also"]] == ["width"]
    assert "width" not in json.dumps(found)
    nothing = symbol_labels.check_entry(entry(defined="no", quote="", line=None), gates())
    assert (nothing["start"], nothing["end"], nothing["also"]) == (None, None, [])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"defined": ""}, "not one of yes, no, type-only"),
        ({"quote": ""}, "`line` or `quote` is empty"),
        ({"line": None}, "`line` or `quote` is empty"),
        ({"defined": "no"}, "there is a quote"),
    ],
)
def test_forms_with_mistakes(changes: dict[str, Any], message: str) -> None:
    """Each mistake is said."""
    with pytest.raises(ValueError, match=message):
        symbol_labels.check_entry(entry(**changes), gates())


def test_kappa() -> None:
    """By hand: agreement 0.75, by chance 0.5."""
    pairs = [(1, 1), (1, 1), (0, 0), (0, 1)] * 5
    assert symbol_labels.kappa(pairs) == pytest.approx((0.75 - 0.5) / (1 - 0.5))
    assert symbol_labels.kappa([(1, 1)]) == 1


def test_agreement() -> None:
    """Best phrases overlap in one case of two, any phrases in both."""
    labels = [
        label(Mark("yes", ((0, 10),)), Mark("yes", ((5, 15),))),
        label(Mark("yes", ((0, 10), (40, 50))), Mark("yes", ((40, 50),))),
        label(Mark("no"), Mark("type-only", ((1, 2),))),
        label(Mark("yes", ((0, 10),)), Mark("no")),
    ]
    table = symbol_labels.agreement(labels)
    assert table["same answer, yes or not"] == 0.75
    assert table["both yes"] == 0.5
    assert table["best phrases overlap"] == 0.5
    assert table["any phrases overlap"] == 1
    assert table["Dice of best phrases"] == pytest.approx(0.25)
    assert table["best phrases are the same"] == 0


def test_labels_are_written_and_read(tmp_path: Path) -> None:
    """A table has all that is in the labels."""
    labels = [label(Mark("yes", ((3, 9), (12, 20))), Mark("no"))]
    symbol_labels.write_labels(labels, tmp_path / "labels.tsv")
    assert symbol_labels.read_labels(tmp_path / "labels.tsv") == labels
    (tmp_path / "other.tsv").write_text("a\tb\n1\t2\n")
    with pytest.raises(SystemExit, match="is not a table of labels"):
        symbol_labels.read_labels(tmp_path / "other.tsv")


# ------------------------------------------------------------ scores


def span(words: str, *, last: bool = False) -> tuple[int, int]:
    """Where words stand in the article."""
    start = TEXT.rindex(words) if last else TEXT.index(words)
    return start, start + len(words)


def answered(a: Mark, b: Mark) -> symbol_labels.Scored:
    """The package's answer for the symbol, which is the width of the gate, compared."""
    meanings = Glossary(gates()).meanings(1)
    meaning = next(one for one in meanings if one.symbol.latex == "w")
    assert meaning.definition is not None
    assert TEXT[meaning.definition.start : meaning.definition.end] == "width of the gate"
    return symbol_labels.scored(label(a, b), TEXT, meaning)


def test_right_answers() -> None:
    """A shared content word counts, a shared stop word does not; the same words elsewhere may."""
    right = answered(Mark("yes", (span("the width of"),)), Mark("yes", (span("is the width"),)))
    assert right.right == (True, True)
    stop = answered(Mark("yes", (span("where $w$ is the"),)), Mark("yes", (span("of the"),)))
    assert stop.right == stop.in_words == (False, False)
    elsewhere = answered(Mark("yes", (span("width $w$ of the gate", last=True),)), Mark("no"))
    assert elsewhere.right == (False, False)
    assert elsewhere.in_words == (True, False)
    assert symbol_labels.scored(label(Mark("no"), Mark("no")), TEXT, None).confidence == 0


def test_rules() -> None:
    """Where readers differ, a symbol is left out, undefined or defined; right by either or both."""
    yes, miss, no = Mark("yes", (span("width"),)), Mark("yes", (span("first"),)), Mark("no")
    items = [answered(yes, yes), answered(yes, miss), answered(yes, no), answered(no, no)]
    joined = symbol_labels.measures(items, "joined")
    assert joined["defined"] == joined["recall"] * 2 / 3 == pytest.approx(2 / 3)
    assert joined["precision"] == pytest.approx(2 / 3)
    assert joined["answers to undefined"] == 1
    strict = symbol_labels.measures(items, "strict")
    assert (strict["defined"], strict["recall"], strict["precision"]) == (0.5, 0.5, 0.25)
    lenient = symbol_labels.measures(items, "lenient")
    assert (lenient["defined"], lenient["recall"], lenient["precision"]) == (0.75, 1, 0.75)
    unanswered = symbol_labels.scored(label(yes, yes), TEXT, None)
    half = symbol_labels.measures([items[0], unanswered], "joined")
    assert (half["found"], half["right"], half["recall"], half["precision"]) == (0.5, 1, 0.5, 1)


# ------------------------------------------------------------ the whole


def fill(form: Path, filled: Path, library: Path) -> None:
    """Answer every symbol with the whole line of its equation, or no where it is the first."""
    lines = []
    with Library.open(library) as opened:
        for number, text in enumerate(form.read_text().splitlines()):
            one = json.loads(text)
            ordinal = int(one["equation"].rpartition("#")[2])
            shown = symbol_sample.shown_lines(opened.article(one["paper"]))
            line = next(line for line in shown if ordinal in line.ordinals)
            answer = {"defined": "yes", "line": line.line.start, "quote": line.text}
            lines.append(json.dumps(one | (answer if number else {"defined": "no"})))
    filled.write_text("\n".join(lines) + "\n")


def test_from_sample_to_score(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The subcommands work one after the other, and the sample is the same each time."""
    monkeypatch.setattr(symbol_labels, "SAMPLES", 50)
    for folder in ("one", "two"):
        symbol_labels.main(["sample", str(demo), "-o", str(tmp_path / folder), "--papers", "3",
                            "--symbols", "6"])  # fmt: skip
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == ["01.txt", "02.txt", "03.txt", "form.jsonl"]
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    form, filled = tmp_path / "one" / "form.jsonl", tmp_path / "filled.jsonl"
    with pytest.raises(SystemExit, match=r"form\.jsonl:6: `defined` is ''"):
        symbol_labels.main(["check", str(demo), str(form), "-o", str(tmp_path / "bad")])
    with pytest.raises(SystemExit, match="run `check` first"):
        symbol_labels.main(["agree", str(form), str(form)])
    fill(form, filled, demo)
    reader, labels = str(tmp_path / "a.jsonl"), str(tmp_path / "labels.tsv")
    symbol_labels.main(["check", str(demo), str(filled), "-o", reader])
    capsys.readouterr()
    symbol_labels.main(["agree", reader, reader])
    agreed = capsys.readouterr().out
    assert "6 symbols of 3 papers; 5 are defined for both readers" in agreed
    assert "kappa, yes or not             1.000" in agreed
    symbol_labels.main(["join", reader, reader, "-o", labels])
    symbol_labels.main(["score", str(demo), labels])
    printed = capsys.readouterr().out
    for rule in symbol_labels.RULES:
        assert f"{rule}: 6 symbols, 5 defined" in printed
    assert "left out" not in printed
    text = Path(labels).read_text()
    Path(labels).write_text(text.replace(text.splitlines()[1].split("\t")[2], "0" * 12))
    symbol_labels.main(["score", str(demo), labels])
    assert "left out: 1 papers whose text is another one" in capsys.readouterr().out


def test_samples_that_cannot_be_drawn(demo: Path, tmp_path: Path) -> None:
    """The reason is said."""
    with pytest.raises(SystemExit, match="a multiple of --papers"):
        symbol_labels.main(["sample", str(demo), "-o", str(tmp_path), "--symbols", "301"])
    with pytest.raises(SystemExit, match="papers of the library have enough symbols, not 60"):
        symbol_labels.main(["sample", str(demo), "-o", str(tmp_path)])
