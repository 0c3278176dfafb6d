"""I-Scheduler."""
