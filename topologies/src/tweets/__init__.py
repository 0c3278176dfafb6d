"""Topologies over tweets: trending topics and sentiment."""
