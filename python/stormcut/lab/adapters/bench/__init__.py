"""What a bench needs of a running cluster: its topologies held and let go, its counters read."""
