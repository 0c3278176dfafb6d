"""Clusters that stormcut starts: local processes, or containers."""
