"""From nodes to workers and slots."""
