"""A running cluster as a problem: what Storm describes, what was measured, and what is declared."""
