"""Real Storm, in containers or as local daemons."""
