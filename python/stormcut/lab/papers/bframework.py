"""The figures of Bframework.

References
----------
N. Mortazavi-Dehkordi, K. Zamanifar, "Bframework", Intelligent Data Analysis 23 (2019), section 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stormcut.lab.papers.claims import NEARLY, GainRange, Limit, MeanGain, Order
from stormcut.lab.papers.figures import Case, Figure, Paper, Parameters
from stormcut.lab.papers.workloads import BIG_BENCH, LINEAR_ROAD

_ONE_PARTITION = "all that is left is that Q10 has one partition, and Q10 itself is lost"
_LOST = "its body is lost in the text that there is"
_SCHEDULERS = ("bframework", "even", "t-storm", "cut")
_TIME, _MS = "latency_ms", "ms from a tuple's emission until all of it is done"
_VARIANTS: dict[str, Parameters] = {
    "sources at two thirds": {"fill": 0.67},
    "rates that rise and fall by half": {"swing": 0.5},
    "two executors for each operator": {"layers": 2.0},
    "transfer at a quarter of its cost": {"transfer": 0.25},
}
#: Shapes of BigBench's queries in turn; the second is the simple linear one.
_BIG_SHAPES = ("star", "diamond", "mixed")
_LINEAR_QUERIES = [(f"Q{number}", "linear", number) for number in range(1, LINEAR_ROAD + 1)]
_BIG_QUERIES = [
    (f"Q{number}", "linear" if number == 2 else _BIG_SHAPES[number % 3], 100 + number)
    for number in range(1, BIG_BENCH + 1)
]
#: Share of BigBench's operators that are user-defined.
USER_DEFINED = 0.3


def _query(shape: str, number: int) -> Parameters:
    """Return what makes a query: Linear Road's are below 100, BigBench's above."""
    own: Parameters = {"queries": shape, "number": number}
    return own if number < 100 else {**own, "unknown": USER_DEFINED}


def _cases(queries: Sequence[tuple[str, str, int]]) -> tuple[Case, ...]:
    return tuple(
        Case(f"{scheduler}, {name}", "bframework", scheduler, "open", _query(shape, number))
        for name, shape, number in queries
        for scheduler in _SCHEDULERS
    )


def _pairs(queries: Sequence[tuple[str, str, int]]) -> list[tuple[str, str]]:
    return [(f"bframework, {name}", f"even, {name}") for name, _, _ in queries]


def _partition_cases(queries: Sequence[tuple[str, str, int]]) -> tuple[Case, ...]:
    return tuple(
        Case(name, "bframework", "bframework", "partitions", _query(shape, number))
        for name, shape, number in queries
    )


def _agreement(cases: Sequence[Case]) -> Limit:
    return Limit(
        "partitions before and after execution agree",
        [each.label for each in cases],
        _AGREE,
        NEARLY,
        "of those with an estimate, on average",
        at_least=True,
        said="they agree",
        of_mean=True,
    )


_AGREE, _SHARE = "agree", "share of operators with an estimate that stay in their partition"
_UNKNOWN, _COUNT = "unknown", "operators without an estimate"


def _partitions() -> Iterator[Figure]:
    """Yield the tables of partitions; values are lost, and what the prose says is judged."""
    road, bench = _partition_cases(_LINEAR_QUERIES), _partition_cases(_BIG_QUERIES)
    labels = [each.label for each in road]
    none = Limit("no operator in the third", labels, _UNKNOWN, 0.0, "", said="none")
    title = "partitions of {} queries, phase {}"
    yield Figure("table 5", title.format("Linear Road's", 1), "5", road, (none,), _UNKNOWN, _COUNT)
    yield Figure(
        "table 6", title.format("Linear Road's", 2), "5", road, (_agreement(road),), _AGREE, _SHARE
    )
    yield Figure("table 7", title.format("BigBench's", 1), "5", left_out=_ONE_PARTITION)
    yield Figure(
        "table 8", title.format("BigBench's", 2), "5", bench, (_agreement(bench),), _AGREE, _SHARE
    )
    pair = ("Yahoo page load", "WordCount")
    yield Figure(
        "3",
        "R of WordCount and Yahoo page load, phase 2",
        "5",
        tuple(
            Case(label, "without schema", "bframework", "partitions", {"query": query})
            for label, query in zip(pair, ("page load", "wordcount"), strict=True)
        ),
        (Order("R of Yahoo page load above that of WordCount", pair, "ratio"),),
        "ratio",
        "R: mean output of the first partition over that of the second",
    )


def _linear_road() -> Figure:
    queries = _LINEAR_QUERIES
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
        drawn=tuple(f"{each}, Q{number}" for number in range(1, 5) for each in _SCHEDULERS),
    )


def _big_bench() -> Figure:
    queries = _BIG_QUERIES
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
        drawn=tuple(f"{each}, Q{number}" for number in range(1, 5) for each in _SCHEDULERS),
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
    yield from _partitions()
    for number, title in (
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
    "Queries are drawn at random, and the machines are chosen; what their authors declare are "
    "schemas, and selectivities as System R guesses them, but for three of ten operators of "
    "BigBench's. The paper's gains are greatest where rates fluctuate; ours "
    "are at fixed rates, and in one row of each table at rates that rise and fall.",
    tuple(_figures()),
)
