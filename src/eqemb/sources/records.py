"""The papers of unarXive's format: one record per line."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from eqemb.errors import SourceError
from eqemb.sources.content import paper_id
from eqemb.sources.found import Found
from eqemb.sources.names import encodable, skipped_name
from eqemb.sources.streams import ByteStream, Meter


def skipped(found: Found, cause: str, detail: str = "") -> Found:
    """A skipped source; its name is never that of an article."""
    name = skipped_name(found.origin)
    return replace(found, name=name, data=None, cause=cause, detail=detail)


def list_records(stream: ByteStream, found: Found, meter: Meter) -> Iterator[Found]:
    """The papers in a file of records, and the lines that are none; damage comes last."""
    number, most = 0, meter.limits.file_bytes
    often: Counter[str] = Counter()
    while line := stream.line(most):
        number += 1
        meter.count("members")
        here = replace(found, origin=f"{found.origin}!{number}", kind="data", data=line)
        if len(line) > most:
            yield skipped(here, "too large", f"a line of more than {most:,} bytes")
        elif identifier := paper_id(line):
            # a paper is known by its origin, so that this must not be the number of the line
            often[identifier] += 1
            again = f"~{often[identifier]}" if often[identifier] > 1 else ""
            origin = f"{found.origin}!{encodable(identifier)}{again}"
            name = f"{found.name}/{identifier}"
            yield replace(here, name=name, origin=origin, form="unarxive")
        elif line.strip():
            yield skipped(here, "broken record", f"line {number} is not a paper")
    if stream.fault:
        raise SourceError("broken archive", stream.fault)
