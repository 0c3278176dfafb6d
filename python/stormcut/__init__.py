"""stormcut: places the executors of Apache Storm topologies so that tuples travel little."""

__version__ = "0.1.0"
