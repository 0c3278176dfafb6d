"""Queries over a shop's events, in the manner of the BigBench benchmark: one per shape."""
