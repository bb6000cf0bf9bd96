"""Commands that ask: search, similar, query, describe, words, why, units."""

import functools
import inspect
import os
import re
import sys
from collections.abc import Callable
from inspect import Parameter
from typing import Annotated, Any, ClassVar, Literal, cast

import typer
from typer.core import TyperCommand

from eqemb.cli.console import Json, LibraryPath, app, columns, harmless, print_json, say
from eqemb.errors import EqembError, UsageError

_TOLD = 10  # unknown words that are named
_EQUATION = "LaTeX, or a name: ARTICLE#4, ARTICLE(2.3), ARTICLE:label."
Count = Annotated[int, typer.Option("-k", "--count", min=1, max=1000, help="How many hits.")]
By = Annotated[
    str, typer.Option("--by", help="all, words, meaning, structure, or paper: as in the paper.")
]
#: What an answer may be limited to, as the library takes it.
_LIMITS: dict[str, Any] = {
    "collection": Annotated[
        str | None,
        typer.Option("--collection", help="Only of this collection, see info; all: every one."),
    ],
    "article": Annotated[str | None, typer.Option("--article", help="Only of this article.")],
    "year": Annotated[
        str | None, typer.Option("--year", help="2015, 2015-2018, 2015- or -2018; by arXiv id.")
    ],
    "section": Annotated[
        str | None,
        typer.Option("--section", help="Only where the section's title has these words."),
    ],
    "has": Annotated[
        list[str] | None,
        typer.Option("--has", metavar="LATEX", help="Only with this symbol; may be given often."),
    ],
    "numbered": Annotated[bool, typer.Option("--numbered", help="Only numbered equations.")],
}


def _limited(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that limit an answer; it takes them as `**limits`."""
    *own, last, _ = inspect.signature(command).parameters.values()
    options = [
        Parameter(
            name,
            Parameter.POSITIONAL_OR_KEYWORD,
            default=False if name == "numbered" else None,
            annotation=kind,
        )
        for name, kind in _LIMITS.items()
    ]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        command(**given | {"has": given["has"] or ()})

    # typer reads both
    vars(run)["__signature__"] = inspect.Signature([*own, *options, last])
    run.__annotations__ = command.__annotations__ | _LIMITS
    return run


class _Plain(TyperCommand):
    """A command among whose arguments some begin with a minus and are no options."""

    plain: ClassVar[re.Pattern[str]]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep them from being read as options: a blank before them does it, and goes again."""
        rest = super().parse_args(
            ctx, [f" {arg}" if self.plain.match(arg) else arg for arg in args]
        )
        for name, value in ctx.params.items():
            if isinstance(value, str):
                ctx.params[name] = value.strip()
        return rest


class _Words(_Plain):
    """Takes words, of which `-word` is one."""

    plain = re.compile(r"-(?:[^\W\d_]{2}|\")")  # two letters: -k and -k5 are options


class _Formula(_Plain):
    """Takes LaTeX, as that of losses, which begin with a minus."""

    plain = re.compile(r"-(?!-|[a-zA-Z][a-zA-Z\d-]*\Z|\Z)")  # letters alone may be misspelt options


@app.command(cls=_Words)
@_limited
def search(
    library: LibraryPath,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="WORDS...", help="Words, 'phrases in quotes', -words, and $LaTeX$ among them."
        ),
    ],
    count: Count = 10,
    by: By = "all",
    encoder: Annotated[
        str | None,
        typer.Option(metavar="MODULE:FUNCTION", help="A sentence encoder that has a say too."),
    ] = None,
    as_json: Json = False,
    **limits: Any,
) -> None:
    """Find equations for words."""
    from eqemb.facade.library import Library
    from eqemb.search.query import check_ranking

    ranking = check_ranking(by)
    with Library.open(library) as opened:
        if encoder is not None:
            opened.encoder(encoder, lambda done, every: say(f"encoding {done:,} of {every:,}"))
        answer = opened.search(" ".join(words), count, by=ranking, encoder=encoder, **limits)
        _say_unknown("does not appear near any equation", answer)
        if len(answer.unknown) > _TOLD:
            more = len(answer.unknown) - _TOLD
            say(f"... and {more} more words that do not appear near any equation")
        _print_answer(answer, "these words do not appear near any equation", as_json=as_json)


@app.command(cls=_Formula)
@_limited
def similar(
    library: LibraryPath,
    equation: Annotated[
        str,
        typer.Argument(
            metavar="EQUATION",
            help="LaTeX, in which ?x stands for anything, or a name: ARTICLE#4, ARTICLE(2.3),"
            " ARTICLE:label.",
        ),
    ],
    count: Count = 10,
    by: By = "all",
    as_json: Json = False,
    **limits: Any,
) -> None:
    """Find equations like a given one."""
    from eqemb.facade.library import Library
    from eqemb.search.query import check_ranking

    ranking = check_ranking(by)
    with Library.open(library) as opened:
        answer = opened.similar(equation, count, by=ranking, **limits)
        _print_answer(answer, "no equation is similar to this one", as_json=as_json)


_Members = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MEMBER",
        help="A word, the name of an equation, $LaTeX$, or a unit as `eqemb units` prints it;"
        " may be given often.",
    ),
]


@app.command()
@_limited
def query(
    library: LibraryPath,
    plus: _Members = None,
    minus: _Members = None,
    count: Count = 10,
    as_json: Json = False,
    **limits: Any,
) -> None:
    """Find equations near a sum of words, equations and units, less others."""
    from eqemb.facade.library import Library

    with Library.open(library) as opened:
        answer = opened.query(plus or [], minus or [], count, **limits)
        _say_unknown("has no vector in the model", answer)
        _print_answer(answer, "no equation is near this sum", as_json=as_json)


@app.command(cls=_Formula)
def describe(
    library: LibraryPath,
    equation: Annotated[str, typer.Argument(metavar="EQUATION", help=_EQUATION)],
    count: Annotated[
        int, typer.Option("-k", "--count", min=1, max=60, help="How many words.")
    ] = 10,
    by: Annotated[str, typer.Option("--by", help="all, or paper: as in the paper.")] = "all",
    as_json: Json = False,
) -> None:
    """Say what an equation is about: words, each with a sentence that bears it out."""
    from eqemb.facade.library import Library

    with Library.open(library) as opened:
        found = opened.describe(equation, count, by=cast(Literal["all", "paper"], by))
    for note in found.notes:
        say(note)
    if as_json:
        print_json(found.to_json())
    elif found.words:
        print(harmless(found.to_text(columns())))
    if not found.words:
        raise EqembError("No matches: no equation of the library is similar to this one.")


@app.command()
def words(
    library: LibraryPath,
    word: Annotated[str, typer.Argument(metavar="WORD", help="A word of the papers.")],
    count: Annotated[
        int, typer.Option("-k", "--count", min=1, max=1000, help="How many words.")
    ] = 10,
    as_json: Json = False,
) -> None:
    """Show the words nearest to a word."""
    from eqemb.facade.library import Library

    with Library.open(library) as opened:
        found = opened.words(word, count)
    if as_json:
        print_json(found.to_json())
    else:
        print(harmless(str(found)))


@app.command(cls=_Formula)
def why(
    library: LibraryPath,
    asked: Annotated[
        str, typer.Argument(metavar="QUERY", help="Words as for `search`; or " + _EQUATION)
    ],
    other: Annotated[str, typer.Argument(metavar="EQUATION", help=_EQUATION)],
    as_json: Json = False,
) -> None:
    """Show why an equation answers a query: the symbols and words that they share."""
    from eqemb.facade.library import Library

    with Library.open(library) as opened:
        found = opened.why(asked, other)
    if as_json:
        print_json(found.to_json())
        return
    for side in (found.query, found.other):
        name = f"{side.equation.id}  " if side.equation is not None else ""
        print(f"{harmless(name)}{_marked(side)}")
    print()
    for line in found.lines():
        print(harmless(line))


def _marked(side: Any) -> str:
    """An equation with the symbols that were met in colour, or between brackets."""
    if side.shape is None:
        return harmless(side.text)
    # signs of ours go through `harmless`, which lets no colour of a paper's through
    text = harmless(side.shape.to_text(mark=side.marked, around=("\ue000", "\ue001")))
    in_colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    signs = ("\x1b[1;33m", "\x1b[0m") if in_colour else ("⟦", "⟧")
    return text.replace("\ue000", signs[0]).replace("\ue001", signs[1])


def _say_unknown(how: str, answer: Any) -> None:
    """Name the words that were not known, with near spellings."""
    for word in answer.unknown:
        near = answer.near.get(word)
        say(f'"{word}" {how}' + (f"; did you mean {', '.join(near)}?" if near else ""))


def _print_answer(answer: Any, nothing: str, *, as_json: bool) -> None:
    """Hits for people or programs; where there are none, why, and exit 1."""
    if answer.hits:
        for note in answer.notes:
            say(note)
    if as_json:
        print_json(answer.to_json())
    elif answer.hits:
        print(harmless(answer.to_text(columns())))
    if not answer.hits:
        why = "; ".join(dict.fromkeys(answer.notes)) or nothing
        raise EqembError(f"No matches: {why}. Try other words or fewer filters.")


@app.command(cls=_Formula)
def units(
    formula: Annotated[
        str, typer.Argument(metavar="LATEX", help="A formula; - reads one a line from stdin.")
    ],
    window: Annotated[
        int, typer.Option("--window", min=0, max=99, help="Edges between two symbols; 0: any.")
    ] = 1,
    end_of_baseline: Annotated[
        bool | None,
        typer.Option(help="Units for ends of baselines: all, none, or where there is no other."),
    ] = None,
    tangent_exact: Annotated[
        bool, typer.Option("--tangent-exact", help="Group fences as Tangent does.")
    ] = False,
    mathml: Annotated[bool, typer.Option("--mathml", help="Print MathML instead.")] = False,
    as_json: Json = False,
) -> None:
    """Show what an equation is made of: its layout tree and its units."""
    from eqemb.formula import layout, picture

    ends: Literal["needed", "all", "none"] = "needed"
    if end_of_baseline is not None:
        ends = "all" if end_of_baseline else "none"
    if not formula.strip():
        raise UsageError("there is no formula: give LaTeX, or - to read it from stdin")
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
                say(f"not read: {cause} {command}".rstrip())
