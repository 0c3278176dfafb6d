"""Micro-benchmarks: topologies of a given layout whose components only pass tuples on."""
