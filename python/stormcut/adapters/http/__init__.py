"""A brain over HTTP, to be watched: metrics for Prometheus, health and status; nothing to order."""
