"""Pipeline-based linear scheduling."""
