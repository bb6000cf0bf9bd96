"""Options and arguments that several commands share, each declared once.

A table of options (`FILTERS`, `CORPUS`) is added to a command by `with_options`; the command
receives their values as keyword arguments.
"""

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from eqemb.arxiv.selection import Selection

Option = typer.Option
#: Name -> type with its declaration, and default.
Options = Mapping[str, tuple[Any, Any]]
#: The value of --collection that means every collection.
ALL_COLLECTIONS = "all"
_MOST_DIGITS = 100


def with_options(options: Options) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add options to a command whose last parameter takes them as `**options`.

    They are listed before `--json`, the last option of every command.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        *own, last, _ = inspect.signature(command).parameters.values()
        added = [
            Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=kind)
            for name, (kind, default) in options.items()
        ]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            command(**given)

        # typer reads both
        vars(run)["__signature__"] = inspect.Signature([*own, *added, last])
        kinds = {name: kind for name, (kind, _) in options.items()}
        run.__annotations__ = command.__annotations__ | kinds
        return run

    return decorate


def path_argument(text: str) -> Path:
    """A path; an empty one (an unset variable) would mean the current folder."""
    if not text:
        raise typer.BadParameter("the path is empty: give a file or a folder")
    return Path(text)


def whole_number(text: str) -> int:
    """A positive whole number, also as people write large ones: 2,500,000 or 2_500_000."""
    if not re.fullmatch(r"[0-9]+|[0-9]{1,3}(,[0-9]{3})+|[0-9]+(_[0-9]+)+", text.strip()):
        raise typer.BadParameter(f"write a whole number, such as 1000000 or 1,000,000, not {text}")
    digits = text.strip().replace(",", "").replace("_", "")
    if len(digits) > _MOST_DIGITS or not int(digits):
        raise typer.BadParameter(f"it must be at least 1 and have at most {_MOST_DIGITS} digits")
    return int(digits)


def library_to_write(text: str) -> Path:
    """The folder of a library; a URL would become a folder with the name of its scheme."""
    from eqemb.sources.remote import is_remote

    path = path_argument(text)
    if is_remote(path):
        raise typer.BadParameter(f"a library cannot be at a URL ({text}): give a folder")
    return path


# -- general

LibraryPath = Annotated[Path, typer.Argument(metavar="LIBRARY", help="The folder of a library.")]
Json = Annotated[bool, Option("--json", help="Print one JSON object.")]
Papers = Annotated[
    list[Path],
    typer.Argument(
        parser=path_argument,
        metavar="PATHS",
        help="Folders and files: .tex, .md, .markdown, .mmd, .rmd, .qmd, .ipynb, .html, .htm,"
        " .xhtml, .xml, .nxml, .rst, .rest, .do.txt, unarXive .jsonl, and archives: .gz, .tar,"
        " .tar.gz, .zip, arXiv month tars; or URLs such as s3://bucket/papers (extra `remote`).",
    ),
]
Root = Annotated[
    Path | None,
    Option(
        "--root",
        metavar="FOLDER",
        help="Name papers by their paths below this folder; default: the folder that they share.",
    ),
]
#: Which papers to read, by what arXiv says about them.
SELECTION: Options = {
    "metadata": (
        Annotated[
            Path | None,
            Option(
                "--metadata",
                metavar="FILE",
                help="Authors, dates, categories, licences and missing titles of papers: arXiv's"
                " arxiv-metadata-oai-snapshot.json, or any metadata.jsonl of `eqemb fetch`.",
            ),
        ],
        None,
    ),
    "category": (
        Annotated[
            list[str] | None,
            Option("--category", help="Only papers of this category: cs.LG, cs.*; repeatable."),
        ],
        None,
    ),
    "license": (
        Annotated[
            list[str] | None,
            Option(
                "--license",
                metavar="NAME",
                help="Only papers of this licence: cc-by, cc-by-sa, cc-by-nc-sa, cc-by-nc-nd, cc0,"
                " public-domain, nonexclusive, none, or its address; repeatable.",
            ),
        ],
        None,
    ),
    "year": (
        Annotated[
            str | None,
            Option(
                "--year", help="Only papers first submitted in 2015, 2015-2018, 2015- or -2018."
            ),
        ],
        None,
    ),
}


def selection_of(options: Mapping[str, Any]) -> "Selection | None":
    """The choice of papers that these options make; None for all."""
    from eqemb.arxiv.selection import Selection

    metadata, years = options["metadata"], options["year"]
    categories, licences = options["category"] or (), options["license"] or ()
    if not (metadata or categories or licences or years):
        return None
    path = "" if metadata is None else str(metadata)
    return Selection(path, tuple(categories), tuple(licences), years or "")


OutputLibrary = Annotated[
    Path,
    Option(
        "-o",
        "--output",
        parser=library_to_write,
        metavar="LIBRARY",
        help="The library folder to write.",
    ),
]
Jobs = Annotated[
    int | None,
    Option("--jobs", min=1, max=256, help="Worker processes; does not affect the result."),
]
Engine = Annotated[
    str,
    Option(
        "--engine",
        metavar="NAME",
        help="Where papers are read and indexed: local, ray (a cluster on this machine, started if"
        " none is running) or ray://HOST:PORT (extra `ray`); does not affect the result.",
    ),
]
Threads = Annotated[
    int | None,
    Option("--threads", min=1, max=256, help="Number of threads; does not affect the result."),
]
Resume = Annotated[bool, Option("--resume", help="Continue an interrupted run.")]
Device = Annotated[
    str | None,
    Option("--device", help="Train on cpu, cuda (a GPU), or auto (a GPU if there is one)."),
]
Map = Annotated[bool, Option("--map/--no-map", help="Compute the map for the page.")]
Encoder = Annotated[
    str | None,
    Option(
        "--encoder",
        metavar="NAME",
        help="A sentence encoder, used as one more ranking: the folder of a sentence-transformers"
        " or model2vec model (extra `encoder`), or a Python function MODULE:FUNCTION.",
    ),
]
Groups = Annotated[
    Path | None,
    Option(
        "--groups",
        metavar="FILE",
        help="Cluster errors and intervals by these groups, not by article: lines of an article"
        " and its group, such as its repository, separated by a tab.",
    ),
]
Seed = Annotated[int, Option("--seed", min=0, help="Random seed.")]
Collection = Annotated[
    str,
    Option(
        "--collection",
        help="A collection, which is a sub-folder of the papers, or all.",
    ),
]

# -- queries

Count = Annotated[int, Option("-k", "--count", min=1, max=1000, help="Number of results.")]
RankBy = Annotated[
    str,
    Option(
        "--by",
        help="Rank by all, words, meaning, structure or encoder; paper: the published method.",
    ),
]
FILTERS: Options = {
    "collection": (Collection, ALL_COLLECTIONS),
    "article": (Annotated[str | None, Option("--article", help="Only this article.")], None),
    "year": (
        Annotated[
            str | None,
            Option("--year", help="2015, 2015-2018, 2015- or -2018, by arXiv identifier."),
        ],
        None,
    ),
    "section": (
        Annotated[
            str | None, Option("--section", help="Only sections whose title has these words.")
        ],
        None,
    ),
    "has": (
        Annotated[
            list[str] | None,
            Option("--has", metavar="LATEX", help="Only equations with this symbol; repeatable."),
        ],
        None,
    ),
    "numbered": (Annotated[bool, Option("--numbered", help="Only numbered equations.")], False),
}
#: The filters of a search, which says how equations match.
MATCH_FILTERS: Options = {
    **FILTERS,
    "without": (
        Annotated[
            list[str] | None,
            Option("--without", metavar="ARTICLE", help="Not from this article; repeatable."),
        ],
        None,
    ),
    "kind": (
        Annotated[
            str | None,
            Option("--kind", help="Only one kind of match, such as 'all words'."),
        ],
        None,
    ),
}

# -- corpora

Vocabulary = Annotated[
    str,
    Option("--vocabulary", help="plain, or paper: nouns and adjectives (needs eqemb[paper])."),
]
Numbering = Annotated[
    str, Option("--numbering", help="Which equations: display (all displayed) or numbered.")
]
CORPUS: Options = {
    "vocabulary": (Vocabulary, "plain"),
    "numbering": (Numbering, "display"),
    "min_count": (
        Annotated[str, Option("--min-count", help="Drop words that are rarer than this, or auto.")],
        "auto",
    ),
    "top": (
        Annotated[str, Option("--top", help="Drop this many of the most frequent words, or auto.")],
        "auto",
    ),
    "phrases": (
        Annotated[bool, Option("--phrases", help="Join frequent pairs of words.")],
        False,
    ),
    "tagger": (
        Annotated[
            str, Option("--tagger", help="For --vocabulary paper: hanta, or nltk with its data.")
        ],
        "hanta",
    ),
    "stop_words": (
        Annotated[
            Path | None,
            Option("--stop-words", metavar="FILE", help="Your own list instead of the built-in."),
        ],
        None,
    ),
    "duplicates": (
        Annotated[
            bool,
            Option("--duplicates/--no-duplicates", help="Keep near-duplicate documents."),
        ],
        False,
    ),
}
