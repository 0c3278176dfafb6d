"""Published figures of the five papers that `stormcut reproduce` does not make."""
