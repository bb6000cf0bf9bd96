"""Readers: one document becomes one `Article`."""
