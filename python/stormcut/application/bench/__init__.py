"""Schedulers measured side by side on one cluster: what is measured, in which order, what it says."""
