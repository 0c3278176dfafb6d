"""`cut`, stormcut's own algorithm."""
