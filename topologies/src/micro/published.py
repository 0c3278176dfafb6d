"""The layouts of the experiments on pipeline-based linear scheduling.

References
----------
Tantalaki, Souravlas, Roumeliotis, Katsavounis 2020: Figs. 2, 6, 16a and 16b.
"""

from itertools import pairwise

from micro.layout import Layout, diamond

RANDOM = Layout(
    {"source": 6, "bolt_1": 5, "bolt_2": 4, "bolt_3": 4, "sink": 5},
    (
        ("source", "bolt_1"),
        ("bolt_1", "bolt_2"),
        ("bolt_1", "bolt_3"),
        ("bolt_2", "sink"),
        ("bolt_3", "sink"),
    ),
)


def _chain(*tasks: int) -> Layout:
    names = ["source", *(f"bolt_{number}" for number in range(1, len(tasks)))]
    return Layout(dict(zip(names, tasks, strict=True)), tuple(pairwise(names)))


LINEAR = _chain(3, 4, 3, 4)
DIAMOND = diamond(middles=2, tasks=10, ends=10)
LINEAR_R = _chain(16, 16, 8, 4, 1)
