"""What fits where: capacities, room, and repair of what does not fit."""
