"""Plan a large library: measure each stage on a sample, and compute what more papers need."""
