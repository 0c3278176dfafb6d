"""StroMAX."""
