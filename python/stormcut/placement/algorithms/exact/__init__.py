"""Proven optima."""
