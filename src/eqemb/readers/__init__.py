"""Readers turn one document into one `Article`; `registry` lists them by format."""
