"""The figures of Bframework.

References
----------
N. Mortazavi-Dehkordi, K. Zamanifar, "Bframework", Intelligent Data Analysis 23 (2019), section 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stormcut.lab.papers.claims import GainRange, MeanGain, Order
from stormcut.lab.papers.figures import Case, Figure, Paper, Parameters
from stormcut.lab.papers.workloads import BIG_BENCH, LINEAR_ROAD

_LOST = "its body is lost in the text that there is"
_SCHEDULERS = ("bframework", "even", "t-storm", "cut")
_TIME, _MS = "latency_ms", "ms from a tuple's emission until all of it is done"
_VARIANTS: dict[str, Parameters] = {
    "sources at two thirds": {"fill": 0.67},
    "two executors for each operator": {"layers": 2.0},
    "transfer at a quarter of its cost": {"transfer": 0.25},
}
#: Shapes of BigBench's queries in turn; the second is the simple linear one.
_BIG_SHAPES = ("star", "diamond", "mixed")


def _cases(queries: Sequence[tuple[str, str, int]]) -> tuple[Case, ...]:
    return tuple(
        Case(
            f"{scheduler}, {name}",
            "bframework",
            scheduler,
            "open",
            {"queries": shape, "number": number},
        )
        for name, shape, number in queries
        for scheduler in _SCHEDULERS
    )


def _pairs(queries: Sequence[tuple[str, str, int]]) -> list[tuple[str, str]]:
    return [(f"bframework, {name}", f"even, {name}") for name, _, _ in queries]


def _linear_road() -> Figure:
    queries = [(f"Q{at}", "linear", at) for at in range(1, LINEAR_ROAD + 1)]
    pairs = _pairs(queries)
    return Figure(
        "table 9",
        "time of tuples of Linear Road's 17 queries: Bframework and the default scheduler",
        "5",
        _cases(queries),
        (
            MeanGain("14.3 % less on average", pairs, _TIME, 1 - 0.143),
            GainRange("up to 29.6 % less", pairs, _TIME, (0.98, 1 - 0.296)),
        ),
        _TIME,
        _MS,
        _VARIANTS,
        drawn=tuple(f"{each}, Q{at}" for at in range(1, 5) for each in _SCHEDULERS),
    )


def _big_bench() -> Figure:
    queries = [
        (f"Q{at}", "linear" if at == 2 else _BIG_SHAPES[at % 3], 100 + at)
        for at in range(1, BIG_BENCH + 1)
    ]
    pairs = _pairs(queries)
    return Figure(
        "table 10",
        "time of tuples of BigBench's queries: Bframework and the default scheduler",
        "5",
        _cases(queries),
        (GainRange("3.7 to 65.7 % less", pairs, _TIME, (1 - 0.037, 1 - 0.657)),),
        _TIME,
        _MS,
        _VARIANTS,
        drawn=tuple(f"{each}, Q{at}" for at in range(1, 5) for each in _SCHEDULERS),
    )


def _five() -> Figure:
    mix = "linear+star+diamond+linear+linear"
    parameters: Parameters = {"queries": mix, "number": 200}
    return Figure(
        "9",
        "time of tuples of five queries at once: Bframework and T-Storm",
        "5",
        tuple(
            Case(each, "bframework", each, "open", parameters)
            for each in (*_SCHEDULERS, "r-storm", "caps", "stromax", "p-scheduler")
        ),
        (
            GainRange("up to 31 % less", [("bframework", "t-storm")], _TIME, (0.98, 1 - 0.31)),
            Order(
                "less than the default scheduler",
                ("bframework", "even"),
                _TIME,
                lower_is_better=True,
            ),
        ),
        _TIME,
        _MS,
        _VARIANTS,
    )


def _figures() -> Iterator[Figure]:
    for number, title in (
        ("table 5", "partitions of Linear Road's queries, phase 1"),
        ("table 6", "partitions of Linear Road's queries, phase 2"),
        ("table 7", "partitions of BigBench's queries, phase 1"),
        ("table 8", "partitions of BigBench's queries, phase 2"),
        ("3", "partitions of WordCount and Yahoo page load, phase 2"),
        ("4, 5", "time of tuples over 15 minutes, Linear Road Q16 and Q8"),
        ("6, 7, 8", "time of tuples over 15 minutes, BigBench Q18, Q1 and Q28"),
    ):
        yield Figure(number, title, "5", left_out=_LOST)
    yield _linear_road()
    yield _big_bench()
    yield _five()


BFRAMEWORK = Paper(
    "bframework",
    "N. Mortazavi-Dehkordi, K. Zamanifar, Bframework, Intelligent Data Analysis 23, 2019",
    "Placing by the weight of what operators send takes 14 % off the time of tuples of simple "
    "queries, and 4 to 66 % off that of complex ones.",
    "Only the number of workers, the shapes of queries and the gains are left of the paper. "
    "Queries are drawn at random, and the machines are chosen. The paper's gains are greatest "
    "where rates fluctuate; ours are at fixed rates.",
    tuple(_figures()),
)
