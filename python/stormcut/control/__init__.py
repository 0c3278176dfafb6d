"""The control loop: observe, decide, publish; what it needs from outside is in `ports`."""
