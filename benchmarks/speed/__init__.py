"""How long things take, and how that grows."""
