"""The simulator beside theory and beside real Storm."""
