"""Commands that query a library: search, similar, describe, words, query, why; and units."""

import os
import re
import sys
from typing import Annotated, Any, ClassVar, Literal, cast

import typer
from typer.core import TyperCommand

from eqemb.cli.app import app
from eqemb.cli.console import (
    output_width,
    print_export,
    print_json,
    print_message,
    without_controls,
)
from eqemb.cli.options import (
    ALL_COLLECTIONS,
    FILTERS,
    MATCH_FILTERS,
    Count,
    Encoder,
    Json,
    LibraryPath,
    Option,
    RankBy,
    with_options,
)
from eqemb.errors import EqembError, UsageError, quoted

_NAMED_WORDS = 10  # unknown words that are named one by one
_EQUATION_HELP = "A formula, or a name: ARTICLE#4, ARTICLE(2.3), ARTICLE:label."
_UNLIKE = "no equation is similar enough to this one"
_Weak = Annotated[bool, Option("--weak", help="List weak matches even if there is no good one.")]
_Format = Annotated[
    str | None,
    Option(
        "--format",
        metavar="FORMAT",
        help="Print text, json, csv, bibtex (the papers) or latex (the equations).",
    ),
]
_FILE_FORMATS = {"csv": "csv", "bibtex": "bib", "latex": "tex"}
_EquationArgument = Annotated[str, typer.Argument(metavar="EQUATION", help=_EQUATION_HELP)]


class _DashCommand(TyperCommand):
    """A command some of whose arguments start with "-" and are not options."""

    value: ClassVar[re.Pattern[str]]
    """Matches the arguments that are values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put a space before such values, so that they are not parsed as options."""
        rest = super().parse_args(
            ctx, [f" {arg}" if self.value.match(arg) else arg for arg in args]
        )
        for name, value in ctx.params.items():
            if isinstance(value, str):
                ctx.params[name] = value.strip()
        return rest


class _WordsCommand(_DashCommand):
    """Takes words; `-word` excludes one."""

    value = re.compile(r"-(?:[^\W\d_]{2}|\")")  # two letters: -k and -k5 are options


class _FormulaCommand(_DashCommand):
    """Takes LaTeX, which may start with a minus."""

    value = re.compile(r"-(?!-|[a-zA-Z][a-zA-Z\d-]*\Z|\Z)")  # letters alone: a misspelt option


def _limits(filters: dict[str, Any]) -> dict[str, Any]:
    """The filters as the library takes them: "all" collections is no filter."""
    for name in ("has", "without"):
        if name in filters:
            filters[name] = filters[name] or ()
    if filters["collection"] == ALL_COLLECTIONS:
        del filters["collection"]
    return filters


def _open_encoder(library: Any, name: str | None) -> None:
    """Load the encoder, and say how far it is where equations are encoded for the first time."""
    if name is not None:
        library.encoder(
            name, lambda done, total: print_message(f"encoding equations: {done:,} of {total:,}")
        )


@app.command(cls=_WordsCommand)
@with_options(MATCH_FILTERS)
def search(
    library: LibraryPath,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORDS", help='Words, "quoted phrases", -excluded words and formulas.'
        ),
    ],
    count: Count = 10,
    by: RankBy = "all",
    encoder: Encoder = None,
    weak: _Weak = False,
    style: _Format = None,
    as_json: Json = False,
    **filters: Any,
) -> None:
    """Find equations by words, phrases and LaTeX."""
    from eqemb.facade.library import Library
    from eqemb.search.query import check_ranking

    ranking, style = check_ranking(by), _style(style, as_json=as_json)
    with Library.open(library) as opened:
        _open_encoder(opened, encoder)
        answer = opened.search(
            " ".join(words), count, by=ranking, encoder=encoder, **_limits(filters)
        )
        _print_unknown("not near any equation", answer)
        is_formula = answer.reading is not None and answer.reading.formula is not None
        reason = _UNLIKE if is_formula else "no equation has enough of these words near it"
        _print_answer(answer, reason, weak=weak, style=style)


@app.command(cls=_FormulaCommand)
@with_options(MATCH_FILTERS)
def similar(
    library: LibraryPath,
    equation: Annotated[
        str,
        typer.Argument(
            metavar="EQUATION",
            help="A formula, where ?x matches anything, or a name: ARTICLE#4, ARTICLE(2.3),"
            " ARTICLE:label.",
        ),
    ],
    count: Count = 10,
    by: RankBy = "all",
    encoder: Encoder = None,
    meanings: Annotated[
        bool,
        Option(
            "--meanings",
            help="Count that symbols mean the same, whatever their letters; for an equation of the"
            " library.",
        ),
    ] = False,
    weak: _Weak = False,
    style: _Format = None,
    as_json: Json = False,
    **filters: Any,
) -> None:
    """Find equations similar to a given one."""
    from eqemb.facade.library import Library
    from eqemb.search.query import check_ranking

    ranking, style = check_ranking(by), _style(style, as_json=as_json)
    with Library.open(library) as opened:
        _open_encoder(opened, encoder)
        limits = _limits(filters)
        answer = opened.similar(
            equation, count, by=ranking, encoder=encoder, meanings=meanings, **limits
        )
        _print_unknown("not near any equation", answer)
        _print_answer(answer, _UNLIKE, weak=weak, style=style)


_Members = Annotated[
    list[str] | None,
    Option(
        metavar="MEMBER",
        help="A word, the name of an equation, $LaTeX$, or a unit as `eqemb units` prints it;"
        " repeatable.",
    ),
]


@app.command()
@with_options(FILTERS)
def query(
    library: LibraryPath,
    plus: _Members = None,
    minus: _Members = None,
    count: Count = 10,
    as_json: Json = False,
    **filters: Any,
) -> None:
    """Find equations by adding and subtracting vectors."""
    from eqemb.facade.library import Library

    with Library.open(library) as opened:
        answer = opened.query(plus or [], minus or [], count, **_limits(filters))
        _print_unknown("not in the model", answer)
        style = _style(None, as_json=as_json)
        _print_answer(answer, "no equation is near this", style=style)


@app.command(cls=_FormulaCommand)
def describe(
    library: LibraryPath,
    equation: _EquationArgument,
    count: Annotated[int, Option("-k", "--count", min=1, max=60, help="Number of words.")] = 10,
    by: Annotated[str, Option("--by", help="Rank by all; paper: the published method.")] = "all",
    as_json: Json = False,
) -> None:
    """Show words that describe an equation, with sentences."""
    from eqemb.facade.library import Library
    from eqemb.search.results import reading_lines

    with Library.open(library) as opened:
        found = opened.describe(equation, count, by=cast(Literal["all", "paper"], by))
    notes = [*reading_lines(found.reading), *found.notes]
    if as_json:
        print_json(found.to_json())
    if not found.words:
        cause = "no equation of the library is similar to this one"
        raise EqembError(f"no matches: {'; '.join([*notes, cause])}; try another equation")
    for note in notes:
        print_message(note)
    if not as_json:
        print(without_controls(found.to_text(output_width())))


@app.command()
def symbols(
    library: LibraryPath,
    equation: Annotated[
        str,
        typer.Argument(
            metavar="EQUATION",
            help="A name: ARTICLE#4, ARTICLE(2.3), ARTICLE:label; ARTICLE alone for its glossary.",
        ),
    ],
    as_json: Json = False,
) -> None:
    """Show what the symbols of an equation mean.

    The definitions are those of its article; the nearest one counts. For an article, shows all
    symbols that it defines.
    """
    from eqemb.facade.library import Library

    with Library.open(library) as opened:
        is_article = opened.records.has_article(equation)
        found = opened.glossary(equation) if is_article else opened.symbols(equation)
    if as_json:
        print_json(found.to_json())
    else:
        print(without_controls(found.to_text(output_width())))


@app.command(cls=_FormulaCommand)
def notation(
    library: LibraryPath,
    asked: Annotated[
        str, typer.Argument(metavar="QUERY", help="Words, or one symbol such as '\\lambda'.")
    ],
    count: Count = 10,
    as_json: Json = False,
) -> None:
    """Show how articles denote a thing, or what a symbol means."""
    from eqemb.facade.library import Library

    with Library.open(library) as opened:
        found = opened.notation(asked, count)
    if as_json:
        print_json(found.to_json())
    elif found.lines:
        print(without_controls(found.to_text(output_width())))
    if not found.lines:
        reason = "no article defines this symbol" if found.is_symbol else "no definition has it"
        raise EqembError(f"no matches: {reason}; try another symbol or other words")


@app.command()
def words(
    library: LibraryPath,
    word: Annotated[str, typer.Argument(metavar="WORD", help="A word of the papers.")],
    count: Count = 10,
    as_json: Json = False,
) -> None:
    """Show the words nearest in meaning to a word."""
    from eqemb.facade.library import Library

    with Library.open(library) as opened:
        found = opened.words(word, count)
    if as_json:
        print_json(found.to_json())
    else:
        print(without_controls(str(found)))


@app.command(cls=_FormulaCommand)
def why(
    library: LibraryPath,
    asked: Annotated[
        str, typer.Argument(metavar="QUERY", help=f"Words as for `search`, or {_EQUATION_HELP}")
    ],
    other: _EquationArgument,
    as_json: Json = False,
) -> None:
    """Explain why an equation matches a query.

    Prints the symbols and words that both have in common.
    """
    from eqemb.facade.library import Library

    with Library.open(library) as opened:
        found = opened.why(asked, other)
    if as_json:
        print_json(found.to_json())
        return
    for side in (found.query, found.other):
        name = f"{side.equation.id}  " if side.equation is not None else ""
        print(f"{without_controls(name)}{_highlighted(side)}")
    print()
    for line in found.lines():
        print(without_controls(line))


def _highlighted(side: Any) -> str:
    """An equation whose matching symbols are in colour, or in brackets."""
    if side.shape is None:
        return without_controls(side.text)
    # private-use characters pass `without_controls`, which removes colours that a paper brings
    text = without_controls(side.shape.to_text(mark=side.marked, around=("\ue000", "\ue001")))
    in_colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    start, end = ("\x1b[1;33m", "\x1b[0m") if in_colour else ("⟦", "⟧")
    return text.replace("\ue000", start).replace("\ue001", end)


def _print_unknown(problem: str, answer: Any) -> None:
    """Name the first unknown words, with similar spellings."""
    for word in answer.unknown[:_NAMED_WORDS]:
        near = answer.near.get(word)
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        print_message(f"{problem}: {word}{hint}")
    if len(answer.unknown) > _NAMED_WORDS:
        print_message(f"... and {len(answer.unknown) - _NAMED_WORDS} more words")


def _style(given: str | None, *, as_json: bool) -> str:
    """The format of an answer; --json is --format json."""
    known = ("text", "json", *_FILE_FORMATS)
    if given is not None and given not in known:
        raise UsageError(f"no format {quoted(given)}: choose one of {', '.join(known)}")
    if as_json and given not in (None, "json"):
        raise UsageError(f"--json and --format {given} contradict each other: give one of them")
    return "json" if as_json else given or "text"


def _print_answer(answer: Any, reason: str, *, weak: bool = True, style: str) -> None:
    """Print the hits; without any, or with weak ones only unless `weak`, fail with the reason."""
    from eqemb.search.exports import EXPORT_FORMATS
    from eqemb.search.results import reading_lines

    is_weak = answer.match == "weak"
    is_shown = answer.match == "good" or (weak and is_weak)
    for line in reading_lines(answer.reading):
        print_message(line)
    if is_shown or is_weak:
        for note in answer.notes:
            print_message(note)
    if style == "json":
        print_json(answer.to_json() | ({} if is_shown else {"hits": []}))
    elif style in _FILE_FORMATS:
        hits = answer.to_json()["hits"] if is_shown else []
        print_export(EXPORT_FORMATS[_FILE_FORMATS[style]](hits))
    elif is_shown:
        print(without_controls(answer.to_text(output_width())))
    if not is_shown and is_weak:
        raise EqembError(f"no good match: {reason}; try another query, or --weak to list weak ones")
    if not is_shown:
        reason = "; ".join(dict.fromkeys(answer.notes)) or reason
        raise EqembError(f"no matches: {reason}; try another query or fewer filters")


@app.command(cls=_FormulaCommand)
def units(
    formula: Annotated[
        str, typer.Argument(metavar="LATEX", help="A formula; - reads one per line from stdin.")
    ],
    window: Annotated[
        int,
        Option(
            "--window", min=0, max=99, help="Most edges between the symbols of a unit; 0: no limit."
        ),
    ] = 1,
    end_of_baseline: Annotated[
        bool | None,
        Option(
            help="Make units for ends of baselines; default: only for a formula with no other unit."
        ),
    ] = None,
    tangent_exact: Annotated[
        bool, Option("--tangent-exact", help="Group brackets exactly as Tangent does.")
    ] = False,
    mathml: Annotated[bool, Option("--mathml", help="Print MathML instead.")] = False,
    as_json: Json = False,
) -> None:
    """Show the layout tree and the units of a formula."""
    from eqemb.formula import layout, picture

    ends: Literal["needed", "all", "none"] = "needed"
    if end_of_baseline is not None:
        ends = "all" if end_of_baseline else "none"
    if not formula.strip():
        raise UsageError("the formula is empty: give LaTeX, or - to read it from stdin")
    for line in sys.stdin if formula == "-" else [formula]:
        if not line.strip() and not as_json:
            continue
        shape = layout(line.rstrip("\n"), tangent_exact=tangent_exact)
        found = shape.units(window=window, end_of_baseline=ends)
        if mathml:
            print(shape.to_mathml())
        elif as_json:
            problems = [" ".join(filter(None, problem)) for problem in shape.problems]
            print_json({"units": found, "slt": shape.to_slt(), "problems": problems})
        else:
            print(picture(shape) + "\n")
            print("\n".join(f"({', '.join(unit)})" for unit in found))
            for cause, command in shape.problems:
                print_message(f"not read: {cause} {command}".rstrip())
