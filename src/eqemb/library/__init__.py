"""The library folder on disk: its database, its generations, and ingest."""
