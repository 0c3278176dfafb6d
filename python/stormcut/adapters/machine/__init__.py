"""What this machine has: stormcut's home, Javas, what is missing."""
