"""What a placement costs, and the one judge of whether it is feasible."""
