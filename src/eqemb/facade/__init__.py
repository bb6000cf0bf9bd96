"""The public `Library`, and the operations above `search` and `models`."""
