"""Other processes: a brain as one of them, and what they said last."""
