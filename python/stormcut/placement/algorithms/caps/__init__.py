"""CAPS."""
