"""What became of moves."""
