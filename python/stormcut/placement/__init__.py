"""Placement algorithms: one file each, one registry."""
