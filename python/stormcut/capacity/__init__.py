"""How many threads, slots and machines a dataflow needs for a rate, and where threads go."""
