"""Other processes: the controller as one of them, and what they said last."""
