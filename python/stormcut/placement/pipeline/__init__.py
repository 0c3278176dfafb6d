"""Pipeline-based linear scheduling: distribution, refinement, schedule."""
