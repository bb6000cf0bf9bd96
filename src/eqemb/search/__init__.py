"""Search: queries, rankings, results and explanations."""
