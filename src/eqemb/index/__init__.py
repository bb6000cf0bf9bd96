"""The index of a library: what is computed once so that searches are fast."""
