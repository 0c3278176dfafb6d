"""Graph partitioners behind one function: ``divide(task) -> part of each vertex``."""
