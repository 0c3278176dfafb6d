"""A Storm of the user's: Nimbus, its stored topologies, its plugins, and submitting to it."""
