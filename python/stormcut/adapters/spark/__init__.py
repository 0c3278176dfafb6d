"""Reads workers' metrics logs with Spark: in batch and as a stream."""
