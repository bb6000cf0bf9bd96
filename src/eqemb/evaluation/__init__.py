"""Research: held-out likelihood, parameter grids, retrieval tasks, tables and plots."""
