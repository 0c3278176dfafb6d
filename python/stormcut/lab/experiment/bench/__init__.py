"""Schedulers side by side: every cell of topology, scheduler and repetition is measured once."""
