"""Proofs of what no placement can beat."""
