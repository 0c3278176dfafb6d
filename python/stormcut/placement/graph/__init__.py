"""Graphs of components and executors, and their partitioning."""
