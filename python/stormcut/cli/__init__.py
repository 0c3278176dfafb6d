"""The stormcut command."""
