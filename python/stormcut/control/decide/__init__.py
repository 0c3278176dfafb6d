"""Where each topology shall run: pure decisions from a state and what is known."""
