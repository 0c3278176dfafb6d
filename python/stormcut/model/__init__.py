"""Pure values: problems, placements, traffic, profiles; they import nothing of stormcut."""
