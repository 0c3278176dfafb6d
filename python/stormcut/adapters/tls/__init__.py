"""Certificates: who may talk to a brain, and as what."""
