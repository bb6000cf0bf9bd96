"""Worker process: receives tasks on stdin and sends records on stdout until stdin ends.

`executor.LocalProcesses` starts it. It reads one paper at a time, so that a paper that exhausts
memory or hangs affects only this process. It cannot reach the network, and can read only the
folders of the papers: files at URLs are fetched by its parent. `storage.confinement` says what
remains possible.
"""

import contextlib
import sys
import time
from collections.abc import Iterator

from eqemb.article import Article, Equation, Problem
from eqemb.errors import SourceError
from eqemb.formula import layout
from eqemb.library.near_duplicates import sketch
from eqemb.library.rows import Form, Record, from_article, skipped
from eqemb.readers.registry import read_source
from eqemb.sources import Found, Limits, load
from eqemb.sources.names import skipped_name
from eqemb.storage.confinement import confine
from eqemb.storage.messages import receive, send, take_stdout
from eqemb.storage.process import exit_with_parent

try:
    import resource
except ImportError:  # Windows: there is a time limit, but no memory limit
    resource = None  # type: ignore[assignment]


@contextlib.contextmanager
def _one_paper() -> Iterator[None]:
    """Turn any error about a paper into a `SourceError`, which does not stop the ingest."""
    try:
        yield
    except SourceError:
        raise
    except MemoryError:
        raise SourceError("out of memory") from None
    except Exception as error:
        raise SourceError("internal error", f"{type(error).__name__}: {error}"[:300]) from error


@_one_paper()
def read_found(found: Found, limits: Limits) -> Article:
    """Open and read one source; raise `SourceError` if it is not an article."""
    return read_source(load(found, limits))


@_one_paper()
def _read_record(found: Found, limits: Limits) -> Record:
    article = read_found(found, limits)
    forms = [_form(article, equation) for equation in article.equations]
    words = article.words()
    return from_article(article, len(words), sketch(words).tobytes(), forms)


def _form(article: Article, equation: Equation) -> Form:
    """Return an equation's canonical form and units; add parse problems to the article."""
    shape = layout(equation.expanded)
    article.problems += [
        Problem(f"equation: {problem.cause}", equation.file, equation.line, problem.command)
        for problem in shape.problems
    ]
    return shape.canonical(), tuple("\t".join(unit) for unit in shape.units())


def make_record(found: Found, limits: Limits) -> Record:
    """Read one source into a record; a source that is not an article gives a skipped record."""
    started = time.perf_counter()
    try:
        record = _read_record(found, limits)
    except SourceError as error:
        record = skip(found, error.cause, error.detail)
    record.seconds = time.perf_counter() - started
    return record


def skip(found: Found, cause: str, detail: str = "") -> Record:
    """Return the record of a source that is not an article."""
    return skipped(skipped_name(found.origin), found.origin, found.collection, cause, detail)


def _limit_memory(most: int) -> None:
    """Limit the address space, where the system supports it."""
    if resource is None:
        return
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        ceiling = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (ceiling, hard))


def main() -> None:
    """Receive the limits, send the active protections, then read papers until stdin ends."""
    tasks, results = sys.stdin.buffer, take_stdout()
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        limits, memory, folders = receive(tasks)
        active = confine(folders)  # before there is a second thread
        exit_with_parent()
        _limit_memory(memory)
        send(results, active)
        while True:
            send(results, make_record(receive(tasks), limits).to_values())


if __name__ == "__main__":
    main()
