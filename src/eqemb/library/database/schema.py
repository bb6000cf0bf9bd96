"""The tables of a library's records, and the version of their content."""

#: Version of the stored records. Increased whenever their content changes, or the rule by which two
#: equations are of one type. The index, which is computed from records, has its own version.
RECORDS_FORMAT = 4
#: The collection name that means all articles.
ALL = "all"

SCHEMA = """
CREATE TABLE sources (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, origin TEXT NOT NULL, collection TEXT NOT NULL,
    status TEXT NOT NULL, cause TEXT NOT NULL, detail TEXT NOT NULL, digest BLOB NOT NULL,
    seconds REAL NOT NULL);
CREATE INDEX sources_name ON sources (name);
CREATE INDEX sources_origin ON sources (origin);
CREATE TABLE articles (
    id INTEGER PRIMARY KEY, title TEXT, main_file TEXT, text TEXT, sections TEXT, words INTEGER,
    displays INTEGER, opened INTEGER, lost INTEGER, bytes INTEGER, sketch BLOB);
CREATE TABLE equations (
    article INTEGER NOT NULL, ordinal INTEGER NOT NULL, numbered INTEGER, number TEXT,
    labels TEXT, environment TEXT, display INTEGER, latex TEXT, expanded TEXT, file TEXT,
    line INTEGER, end_line INTEGER, section TEXT, context TEXT, "references" TEXT,
    type INTEGER NOT NULL, PRIMARY KEY (article, ordinal)) WITHOUT ROWID;
CREATE INDEX equations_type ON equations (type);
CREATE TABLE types (
    id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, canonical TEXT NOT NULL,
    units BLOB NOT NULL);
CREATE TABLE units (id INTEGER PRIMARY KEY, unit TEXT NOT NULL UNIQUE);
CREATE TABLE problems (
    article INTEGER NOT NULL, cause TEXT, file TEXT, line INTEGER, detail TEXT);
CREATE INDEX problems_article ON problems (article);
CREATE TABLE publications (
    article INTEGER NOT NULL PRIMARY KEY, authors TEXT NOT NULL, date TEXT NOT NULL);
CREATE TABLE notation (article INTEGER NOT NULL, symbol TEXT, meaning TEXT, section INTEGER);
CREATE INDEX notation_article ON notation (article);
CREATE TABLE unknown_macros (article INTEGER NOT NULL, macro TEXT, count INTEGER);
CREATE INDEX unknown_macros_article ON unknown_macros (article);
"""
