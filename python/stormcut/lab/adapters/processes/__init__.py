"""Processes that the laboratory starts."""
