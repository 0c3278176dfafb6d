"""A small bench for tests."""

from stormcut.lab.experiment.bench.cells import BenchRun, Cell, Measurement, Placed

RUN = BenchRun(
    "network-bound",
    "20 Mbit/s a node",
    ("even", "cut"),
    ("linear", "star"),
    3,
    {"linear": {"rate": 0, "scale": 1.5, "steps": (1, 2)}},
    {"limits": "0.3 cores", "command": "stormcut bench", "day": "2026-11-21"},
    {"cpu": "no permission"},
)
PLACED = Placed("linear", "cut", "", ("node-1", "node-2"), 10.5, 40.0)
REFUSED = Placed("linear", "even", "no feasible placement", (), 0.0, 0.0)


def measured(scheduler: str = "cut", repetition: int = 1, unsteady: str = "") -> Measurement:
    cell = Cell("linear", repetition, scheduler)
    return Measurement(
        cell,
        1.5,
        11.5,
        900.25,
        8.0,
        7.5,
        None,
        20.0,
        18.5,
        (0.25, 0.5),
        0.1,
        2,
        unsteady,
        (10.5, 8.0),
        (8.0, 10.5),
        (0.0, 0.5),
    )
