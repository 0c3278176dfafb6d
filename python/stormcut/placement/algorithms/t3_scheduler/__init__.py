"""T3-Scheduler."""
