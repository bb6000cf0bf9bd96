"""Commands that ask: search, similar, units."""

import re
import sys
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand

from eqemb.cli.shell import Json, LibraryPath, app, harmless, print_json, say, short
from eqemb.errors import EqembError

Count = Annotated[int, typer.Option("-k", "--count", min=1, max=1000, help="How many hits.")]
By = Annotated[
    str, typer.Option("--by", help="all, words, meaning, structure, or paper: as in the paper.")
]
Collection = Annotated[str | None, typer.Option("--collection", help="Only of this collection.")]
InArticle = Annotated[str | None, typer.Option("--article", help="Only of this article.")]
Year = Annotated[
    str | None, typer.Option("--year", help="2015, 2015-2018, 2015- or -2018; by arXiv id.")
]
Section = Annotated[
    str | None, typer.Option("--section", help="Only where the section's title has these words.")
]
Has = Annotated[
    list[str] | None,
    typer.Option("--has", metavar="LATEX", help="Only with this symbol; may be given often."),
]
Numbered = Annotated[bool, typer.Option("--numbered", help="Only numbered equations.")]


class _Query(TyperCommand):
    """A command whose last arguments are words, of which `-word` is one and no option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep excluded words from being read as options; a blank before them does it."""
        kept = [f" {arg}" if _EXCLUDED.match(arg) else arg for arg in args]
        return super().parse_args(ctx, kept)


_EXCLUDED = re.compile(r"-(?:[^\W\d_][^\W_]|\")")  # two letters: -k is an option


@app.command(cls=_Query)
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
    collection: Collection = None,
    article: InArticle = None,
    year: Year = None,
    section: Section = None,
    has: Has = None,
    numbered: Numbered = False,
    as_json: Json = False,
) -> None:
    """Find equations for words."""
    from eqemb.library import Library

    limits = _limits(collection, article, year, section, has, numbered=numbered)
    with Library.open(library) as opened:
        if encoder is not None:
            opened.encoding(encoder, lambda done, every: say(f"encoding {done:,} of {every:,}"))
        answer = opened.search(" ".join(words), count, by=by, encoder=encoder, **limits)
        for word in answer.unknown:
            near = answer.near.get(word)
            say(
                f"near no equation: {word}" + (f"; did you mean {', '.join(near)}?" if near else "")
            )
        _print_answer(answer, "no equation has these words near it", as_json=as_json)


@app.command()
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
    collection: Collection = None,
    article: InArticle = None,
    year: Year = None,
    section: Section = None,
    has: Has = None,
    numbered: Numbered = False,
    as_json: Json = False,
) -> None:
    """Find equations like a given one."""
    from eqemb.library import Library

    limits = _limits(collection, article, year, section, has, numbered=numbered)
    with Library.open(library) as opened:
        answer = opened.similar(equation, count, by=by, **limits)
        _print_answer(answer, "no equation is like this one", as_json=as_json)


def _limits(
    collection: str | None,
    article: str | None,
    year: str | None,
    section: str | None,
    has: list[str] | None,
    *,
    numbered: bool,
) -> dict[str, Any]:
    """What an answer is limited to, as the library takes it."""
    return {
        "collection": collection,
        "article": article,
        "year": year,
        "section": section,
        "has": has or (),
        "numbered": numbered,
    }


def _print_answer(answer: Any, nothing: str, *, as_json: bool) -> None:
    """Hits for people or programs; where there are none, why, and exit 1."""
    for note in answer.notes:
        say(note)
    if as_json:
        print_json(answer.to_dict())
    else:
        for rank, hit in enumerate(answer, 1):
            print(hit_text(rank, hit))
    if not answer.hits:
        raise EqembError(f"nothing found: {nothing}")


def hit_text(rank: int, hit: Any) -> str:
    """A hit as people read it."""
    equation = hit.equation
    number = f" ({equation.number})" if equation.number is not None else ""
    same = f", in {hit.papers} papers" if hit.papers > 1 else ""
    return harmless(
        f"{rank:3}  {hit.score:6.3f}  {short(hit.text, 100)}\n"
        f"             {equation.id}{number}{same} · {short(hit.title, 60)}"
        f" · {equation.file}:{equation.line}\n"
        f"             {_around(equation.context, 86)}\n"
    )


def _around(context: str, width: int) -> str:
    """The words on both sides of the equation."""
    before, mark, after = context.partition("[equation]")
    if not mark:
        return short(context, width)
    left = before if len(before) <= width // 2 else "…" + before[-width // 2 :].partition(" ")[2]
    return short(left + mark + after, width)


@app.command()
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
