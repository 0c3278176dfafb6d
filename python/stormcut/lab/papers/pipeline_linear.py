"""The figures of pipeline-based linear scheduling.

References
----------
N. Tantalaki, S. Souravlas, M. Roumeliotis, S. Katsavounis, "Pipeline-based linear scheduling of big
data streams in the cloud", IEEE Access 2020; sections V.B (latency) to V.E (throughput).
"""

from __future__ import annotations

from collections.abc import Iterator

from stormcut.lab.papers.claims import Gain, Limit, Printed
from stormcut.lab.papers.figures import WORKED_EXAMPLE, Case, Figure, Paper, Parameters
from stormcut.lab.papers.measures import ONE
from stormcut.lab.papers.rivals import rivals

_BY_ONE: Parameters = {"parts": ONE}
_SERVICE: dict[str, Parameters] = {
    "1 ms for a tuple": {"service_us": 1_000.0},
    "windows of 10": {"window": 10.0},
    "parts of one tuple": _BY_ONE,
}


#: A case with the paper's own routing; others have Storm's shuffle.
_SCHEDULE = "its own schedule"
_BY = (
    (_SCHEDULE, "by its schedule of steps"),
    ("pipeline-linear", "by its placement, with Storm's shuffle"),
)
#: What is measured of the schedule, by what is simulated of a placement.
_OF_SCHEDULE = {"open": "slot clock", "closed": "rounds", "buffers": "slot buffers"}


def _cases(measure: str, parameters: Parameters) -> tuple[Case, ...]:
    own = _OF_SCHEDULE[measure]
    schedule = Case(_SCHEDULE, "pipeline", "pipeline-linear", own, parameters)
    return (schedule, *rivals("pipeline", measure, parameters))


def _latency(number: str, application: str, ratio: float) -> Figure:
    return Figure(
        number,
        f"time of a tuple, {application}",
        "V.B",
        _cases("open", {"application": application}),
        tuple(
            Gain(
                f"{(1 - ratio):.0%} less time than the default scheduler {by}: {application}",
                case,
                "even",
                "latency_ms",
                ratio,
            )
            for case, by in _BY
        ),
        "latency_ms",
        "ms from a tuple's emission until all of it is done",
        {
            "1 ms for a tuple": {"service_us": 1_000.0},
            "sources at two thirds": {"fill": 0.67},
            "sources at a quarter": {"fill": 0.25},
            "parts of one tuple": _BY_ONE,
        },
    )


def _memory(number: str, parameters: Parameters, most: float) -> Figure:
    """Return the use of buffers."""
    application = str(parameters["application"])
    default = Printed(
        "the default scheduler takes about 70 % of the buffers", {"even": 0.7}, "memory", 0.1
    )
    return Figure(
        number,
        f"memory of buffers, {application}",
        "V.C",
        _cases("buffers", parameters),
        (
            *(
                Limit(f"at most {most:.0%} of the buffers {by}", (case,), "memory", most, "")
                for case, by in _BY
            ),
            *((default,) if application == "random" else ()),
        ),
        "memory",
        "share of the buffers in use",
        {
            "1 ms for a tuple": {"service_us": 1_000.0},
            "sources above what fits": {"load": 1.05},
            "parts of one tuple": _BY_ONE,
        },
    )


def _balance(number: str, application: str) -> Figure:
    case = Case(
        "pipeline-linear", "pipeline", "pipeline-linear", "rounds", {"application": application}
    )
    claims = (
        (Limit("nodes differ by 7 % on average", ("pipeline-linear",), "divergence", 0.07, ""),)
        if application == "random"
        else (
            Limit(
                "the load is nearly flat",
                ("pipeline-linear",),
                "divergence",
                0.10,
                "",
                said="nearly flat",
            ),
        )
    )
    return Figure(
        number,
        f"tuples processed on each node, {application}: by the paper's own schedule",
        "V.D",
        (case,),
        claims,
        "divergence",
        "mean difference from the mean",
    )


def _throughput(number: str, application: str, over: str, ratio: float) -> Figure:
    return Figure(
        number,
        f"throughput, {application}",
        "V.E",
        _cases("closed", {"application": application}),
        tuple(
            Gain(
                f"{ratio - 1:.0%} more than {over} {by}: {application}",
                case,
                over,
                "sources",
                ratio,
            )
            for case, by in _BY
        ),
        "sources",
        "tuples/s of the sources",
        _SERVICE,
    )


def _figures() -> Iterator[Figure]:
    for number, title in (
        ("1, 2, 6", "matrices of the worked examples"),
        ("3, 7", "transfers of the pipeline, random and linear"),
        ("4, 5", "a stall of two parts"),
    ):
        yield Figure(number, title, "II and III", left_out=WORKED_EXAMPLE)
    yield _latency("8", "random", 0.75)
    yield _latency("9", "linear", 0.60)
    yield _memory("10", {"application": "random"}, 0.26)
    yield _memory("11", {"application": "linear", "loss": 0.001}, 0.07)
    yield _balance("12", "random")
    yield _balance("13", "linear")
    yield _throughput("14", "random", "even", 1.25)
    yield _throughput("15", "linear", "even", 1.40)
    yield _throughput("17", "diamond", "r-storm", 1.35)
    yield _throughput("18", "linear-R", "r-storm", 1.45)


PIPELINE_LINEAR = Paper(
    "pipeline-linear",
    "N. Tantalaki et al., Pipeline-based linear scheduling of big data streams in the cloud, IEEE "
    "Access 2020",
    "Pipelined transfers take 25 to 40 % off the time of tuples, and carry 25 to 45 % more.",
    "Tasks, edges, nodes, links and the size of tuples are printed; the time that a tuple takes, "
    "rates and windows are not. Figures have the paper's schedule of steps, which tuples walk slot "
    "by slot while the busiest task of a slot determines how long it lasts, and its placement with "
    "Storm's shuffle. Nor is the size of a stream's parts printed: they are as small as keeps "
    "every stage as fast as the one before, and in one row of each table single tuples.",
    tuple(_figures()),
)
