"""What runs: measured while topologies run, and told when that is news."""
