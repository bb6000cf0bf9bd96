"""The records of a library: every article, equation and problem, in SQLite files.

`Records` is the file of one segment; `LibraryRecords` are those of all segments. This package is
the only one that contains SQL. Rows are stored in the order in which the sources were found. The
digest of a library is the digest of its records' digests, in order.
"""

from eqemb.library.database.connection import RESTORE_LIBRARY, is_damage
from eqemb.library.database.library_records import LibraryRecords
from eqemb.library.database.records import Records, open_records
from eqemb.library.database.report_queries import ArticleCounts
from eqemb.library.database.schema import ALL, RECORDS_FORMAT, SCHEMA

__all__ = [
    "ALL",
    "RECORDS_FORMAT",
    "RESTORE_LIBRARY",
    "SCHEMA",
    "ArticleCounts",
    "LibraryRecords",
    "Records",
    "is_damage",
    "open_records",
]
