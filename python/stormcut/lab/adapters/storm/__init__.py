"""Benchmark topologies as projects, and how they are submitted."""
