"""Download papers from arXiv."""
