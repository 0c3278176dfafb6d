"""The dataflows of Shukla and Simmhan's experiments as graphs of the five measured tasks.

Micro dataflows: figure 5. Applications: wiring after the authors' later public repositories; the
paper's figure 6 labels are lost, so that task types go round parse, pi, file, blob, table. Source
and sink are left out, as in the estimate of slots.
"""

from stormcut.placement.algorithms.model_driven.allocation import Dag, Edge
from stormcut.placement.algorithms.model_driven.azure_tasks import AZURE_TASKS


def _dag(tasks, edges):
    return Dag(tuple(tasks), tuple(Edge(a, b) for a, b in edges))


LINEAR = _dag(
    ("blob", "table", "pi", "parse", "file"),
    (("blob", "table"), ("table", "pi"), ("pi", "parse"), ("parse", "file")),
)
DIAMOND = _dag(
    ("blob", "table", "parse", "file", "pi"),
    (("blob", "pi"), ("table", "pi"), ("parse", "pi"), ("file", "pi")),
)
STAR = _dag(
    ("blob", "table", "pi", "parse", "file"),
    (("blob", "pi"), ("table", "pi"), ("pi", "parse"), ("pi", "file")),
)
MICRO = {"linear": LINEAR, "diamond": DIAMOND, "star": STAR}


def _application(types, edges):
    """Return (dataflow, model of each task); tasks are named by their number."""
    numbers = sorted({number for edge in edges for number in edge})
    models = {f"{n}": AZURE_TASKS[types[k % len(types)]] for k, n in enumerate(numbers)}
    return _dag((f"{n}" for n in numbers), ((f"{a}", f"{b}") for a, b in edges)), models


def _edges(text):
    """Return pairs of numbers written as 2-3."""
    return [tuple(int(end) for end in edge.split("-")) for edge in text.split()]


_TURNS = ("parse", "pi", "file", "blob", "table")
TRAFFIC = _application(
    _TURNS,
    (
        (2, 3),
        (3, 4),
        (4, 5),
        (5, 6),
        (5, 7),
        (5, 8),
        (6, 9),
        (6, 10),
        (9, 11),
        (7, 12),
        (10, 12),
        (11, 12),
    ),
)
GRID = _application(
    _TURNS,
    (
        (2, 3),
        (3, 4),
        (4, 5),
        (5, 6),
        (6, 7),
        (7, 8),
        (4, 9),
        (9, 10),
        (9, 11),
        (9, 12),
        (12, 13),
        (10, 14),
        (11, 14),
        (13, 14),
        (14, 15),
        (15, 16),
    ),
)
FINANCE = _application(
    ("parse", "file", "parse", "blob", "pi", "table", "file"),
    _edges("2-3 2-4 3-5 5-6 6-7 4-7 7-8"),
)
