"""Placements and bounds, without a cluster."""
