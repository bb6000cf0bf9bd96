"""Find articles by name: the whole name, or its last parts where these are unique."""

from eqemb.errors import UsageError
from eqemb.library.database import LibraryRecords

_LISTED = 5  # in a message


def resolve_article(records: LibraryRecords, name: str) -> str | None:
    """Return the whole name of an article, given that name or its last parts; None if unknown.

    `x` and `b/x` mean `a/b/x` if no other article's name ends like that.
    """
    if records.key(name) is not None:
        return name
    found = records.names_ending(name)
    if len(found) > 1:
        listed = ", ".join(found[:_LISTED]) + (", ..." if len(found) > _LISTED else "")
        raise UsageError(
            f"{name!r} is ambiguous: it may mean any of {len(found):,} articles ({listed});"
            " write the longer name"
        )
    return found[0] if found else None
