"""What the papers print about one scheduler against another, to stand beside what a bench measures.

Only comparisons between schedulers that exist here, on topologies that exist here, and only figures
that are printed as numbers: curves without numbers, "similar" and "lower" are left out, and so are
Bframework and StroMAX against themselves or against schedulers that the papers do not name. Shukla
and Simmhan compare slots and stable rates, not throughput; nothing of theirs can stand here.

References
----------
.. [1] Eskandari, task scheduling in data stream processing systems, PhD thesis: P-, T3- and
       I-Scheduler.
.. [2] Tantalaki, Souravlas, Roumeliotis, Katsavounis, Pipeline-based linear scheduling of big data
       streams in the cloud, IEEE Access 2020.
.. [3] Jiang, Zhang, Cui, Tong, Xu, StroMAX: partitioning-based scheduler for real-time stream
       processing system.
.. [4] Mortazavi-Dehkordi, Zamanifar, Bframework, Intelligent Data Analysis 23, 2019.
"""

from __future__ import annotations

from dataclasses import dataclass

THROUGHPUT = "throughput"
#: The papers' TPT: how long a tuple takes from its source until it is done.
TUPLE_TIME = "tuple time"


@dataclass(frozen=True)
class Published:
    """One printed comparison.

    Attributes
    ----------
    metric : str
        ``THROUGHPUT`` or ``TUPLE_TIME``.
    printed : str
        The figures as printed, averages or changes.
    least, most : float
        The scheduler's figure over the baseline's; equal unless a range is printed.
    setting : str
        Cluster and load, in words.
    place : str
        Paper, section, figure or table.
    """

    topology: str
    scheduler: str
    baseline: str
    metric: str
    printed: str
    least: float
    most: float
    setting: str
    place: str


def published(topology: str, scheduler: str | None, baseline: str) -> tuple[Published, ...]:
    """Return what is printed about `scheduler` (None: any) against `baseline` on `topology`."""
    return tuple(
        entry
        for entry in PUBLISHED
        if (entry.topology, entry.baseline) == (topology, baseline)
        and scheduler in (None, entry.scheduler)
    )


_EIGHT = "8 nodes of 4 cores"
_TWO_AND_TWO = "2 nodes of 4 cores, 2 of 2"
_IO = "I/O-intensive; 1 node of 4 cores, 2 of 2"
_CPU = "CPU-intensive; 2 nodes of 4 cores, 4 of 2"
_SIMULATED = "simulation, {} nodes, 100 Mbit/s"
_QUERIES = "13 nodes, fixed and fluctuating rates, "


def _averages(
    topology: str,
    pair: tuple[str, str],
    rates: tuple[int, int],
    setting: str,
    place: str,
    change: str = "",
) -> Published:
    """Return an entry for two printed averages, tuples per 10 s, and the change if printed too."""
    ratio = rates[0] / rates[1]
    printed = f"{rates[0]:,} and {rates[1]:,} tuples per 10 s{change and f' ({change})'}"
    return Published(topology, *pair, THROUGHPUT, printed, ratio, ratio, setting, f"thesis {place}")


def _changes(
    topologies: tuple[str, ...],
    pair: tuple[str, str],
    metric: str,
    percent: tuple[float, float],
    setting: str,
    place: str,
) -> tuple[Published, ...]:
    """Return entries for one printed change, or a range of them, over several topologies."""
    low, high = percent
    printed = f"{low:+g} %" if low == high else f"{low:+g} to {high:+g} %"
    least, most = sorted((1 + low / 100, 1 + high / 100))
    return tuple(
        Published(topology, *pair, metric, printed, least, most, setting, place)
        for topology in topologies
    )


def _load_prediction() -> tuple[Published, ...]:
    # 32 % and 30 % are both printed for the same two averages.
    rows = (
        ("p-scheduler", 6900, ("+32 %", "+86 %"), "7.6.1, fig. 7.10"),
        ("t3-scheduler", 6600, ("+26 %", "+78 %"), "8.5.2, fig. 8.13"),
        ("i-scheduler", 6900, ("+30 %", "+86 %"), "9.5.2, fig. 9.10"),
    )
    baselines = (("r-storm", 5200), ("ols", 3700))
    return tuple(
        _averages("load_prediction", (scheduler, baseline), (rate, other), _EIGHT, place, change)
        for scheduler, rate, changes, place in rows
        for (baseline, other), change in zip(baselines, changes, strict=True)
    )


def _taxi() -> tuple[Published, ...]:
    alike = (("r-storm", 15500), ("ols", 9800))
    unlike = (("r-storm", 14800), ("ols", 13000))
    rows = (
        ("p-scheduler", 15700, alike, _EIGHT, "7.6.2, fig. 7.12"),
        ("t3-scheduler", 15700, alike, _EIGHT, "8.5.3, fig. 8.17"),
        ("i-scheduler", 16000, alike, _EIGHT, "9.5.3, fig. 9.14"),
        ("t3-scheduler", 14900, unlike, _TWO_AND_TWO, "8.5.3, fig. 8.18"),
        ("i-scheduler", 15700, unlike, _TWO_AND_TWO, "9.5.3, fig. 9.15"),
    )
    return tuple(
        _averages("taxi", (scheduler, baseline), (rate, other), setting, place)
        for scheduler, rate, baselines, setting, place in rows
        for baseline, other in baselines
    )


def _micro() -> tuple[Published, ...]:
    layouts = ("linear", "diamond", "star")
    t3, i = "t3-scheduler", "i-scheduler"
    t3_io, t3_cpu = "thesis 8.5.1, fig. 8.12a", "thesis 8.5.1, fig. 8.12b"
    i_io, i_cpu = "thesis 9.5.1, fig. 9.9a", "thesis 9.5.1, fig. 9.9b"
    straight, diamond = ("linear", "star"), ("diamond",)
    return (
        *_changes(layouts, (t3, "ols"), THROUGHPUT, (7, 41), _IO, t3_io),
        *_changes(diamond, (t3, "r-storm"), THROUGHPUT, (20, 20), _IO, t3_io),
        # One range for both baselines; the paper does not say which end is whose.
        *_changes(diamond, (t3, "r-storm"), THROUGHPUT, (24, 33), _CPU, t3_cpu),
        *_changes(diamond, (t3, "ols"), THROUGHPUT, (24, 33), _CPU, t3_cpu),
        *_changes(straight, (t3, "ols"), THROUGHPUT, (8, 12), _CPU, t3_cpu),
        *_changes(layouts, (i, "ols"), THROUGHPUT, (8, 46), _IO, i_io),
        *_changes(diamond, (i, "r-storm"), THROUGHPUT, (25, 25), _IO, i_io),
        *_changes(layouts, (i, "ols"), THROUGHPUT, (10, 35), _CPU, i_cpu),
        *_changes(diamond, (i, "r-storm"), THROUGHPUT, (26, 26), _CPU, i_cpu),
    )


def _pipeline() -> tuple[Published, ...]:
    even, r_storm = ("pipeline-linear", "even"), ("pipeline-linear", "r-storm")
    nine, eight = _SIMULATED.format(9), _SIMULATED.format(8)
    paper = "pipeline-linear V."
    return (
        *_changes(("pls_random",), even, THROUGHPUT, (25, 25), nine, f"{paper}E, fig. 14"),
        *_changes(("pls_linear",), even, THROUGHPUT, (40, 40), eight, f"{paper}E, fig. 15"),
        *_changes(("pls_diamond",), r_storm, THROUGHPUT, (35, 35), eight, f"{paper}E, fig. 17"),
        *_changes(("pls_linear_r",), r_storm, THROUGHPUT, (45, 45), eight, f"{paper}E, fig. 18"),
        *_changes(("pls_random",), even, TUPLE_TIME, (-25, -25), nine, f"{paper}B, fig. 8"),
        *_changes(("pls_linear",), even, TUPLE_TIME, (-40, -40), eight, f"{paper}B, fig. 9"),
    )


def _stromax() -> tuple[Published, ...]:
    # In a bench nothing runs yet when a scheduler is asked, so that `stromax` alone is Bootstrap.
    bootstrap, both = "stromax", "stromax:mode=rebalance"
    nodes = "40 nodes, 1 Gbit/s, more than half of the CPU used"
    rows = (
        ("log_processing", bootstrap, -37.0, "5.2, fig. 5a (Bootstrap)"),
        ("sentiment", bootstrap, -39.0, "5.2, fig. 5b (Bootstrap)"),
        ("throughput_test", both, -87.3, "5.4, fig. 8a (Bootstrap and Rebalance)"),
    )
    return tuple(
        entry
        for topology, scheduler, percent, place in rows
        for entry in _changes(
            (topology,),
            (scheduler, "even"),
            TUPLE_TIME,
            (percent, percent),
            nodes,
            f"StroMAX {place}",
        )
    )


def _bframework() -> tuple[Published, ...]:
    pair = ("bframework", "even")
    shapes = ("bigbench_linear", "bigbench_star", "bigbench_diamond")
    road, shop = f"{_QUERIES}mean of 17 queries", f"{_QUERIES}all queries"
    return (
        *_changes(("linear_road",), pair, TUPLE_TIME, (-14.3, -14.3), road, "Bframework, table 9"),
        *_changes(shapes, pair, TUPLE_TIME, (-3.7, -65.7), shop, "Bframework, table 10"),
    )


PUBLISHED = (
    *_load_prediction(),
    *_taxi(),
    *_micro(),
    *_pipeline(),
    *_stromax(),
    *_bframework(),
)
