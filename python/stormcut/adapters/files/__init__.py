"""Files that stormcut reads and writes: problems, placements, profiles, decisions."""
