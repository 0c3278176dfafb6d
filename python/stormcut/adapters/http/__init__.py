"""What the controller tells over HTTP: metrics, health, its state. It takes no orders here."""
