"""Topologies over texts: word count, synthetic communication, throughput test."""
