"""Spark jobs of the laboratory."""
