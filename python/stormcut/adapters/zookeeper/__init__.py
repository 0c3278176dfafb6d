"""stormcut's nodes in ZooKeeper, and who leads (docs/protocol.md)."""
