"""Schedulers measured side by side on one cluster: order, windows, what they say."""
