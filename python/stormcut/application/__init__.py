"""Use cases; what they need from outside is named as Protocols."""
