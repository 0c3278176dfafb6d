"""What a placement is worth, and whether it is allowed."""
