"""Experiments on real clusters: benches, the demo, runs of benchmark topologies."""
