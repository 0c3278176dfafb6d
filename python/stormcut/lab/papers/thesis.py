"""The figures of L. Eskandari's thesis: P-, T3- and I-Scheduler.

References
----------
L. Eskandari, "Task scheduling in data stream processing systems", PhD thesis; sections 7.5 to 7.6
(P), 8.4 to 8.5 (T3), 9.4 to 9.5 (I).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stormcut.lab.papers.claims import (
    Equal,
    Gain,
    GainRange,
    Limit,
    Order,
    PaperClaim,
    Printed,
)
from stormcut.lab.papers.figures import (
    WORKED_EXAMPLE,
    Case,
    Figure,
    Paper,
    Parameters,
)
from stormcut.lab.papers.rivals import SIMULATED, rivals

SIZES = (10, 18, 22, 26, 28, 30, 32)
LAYOUTS = ("linear", "diamond", "star")
CLUSTERS = ("homogeneous", "heterogeneous")

#: The thesis's I-Scheduler takes METIS's parts as they come and a threshold of 18: two printed
#: misses of the optimum tell both. METIS breaks ties by its seed: the best of three.
_PRINTED_I = "i-scheduler:parts=raw+phi=18"
_COST_RIVALS = ("p-scheduler", "t3-scheduler", _PRINTED_I, "i-scheduler", "exact", "cut")
_NAMES = {_PRINTED_I: "i-scheduler as printed"}
_SEEDS = {_PRINTED_I: (1, 2, 3)}


def _label(scheduler: str, layout: str, cluster: str, size: int) -> str:
    return f"{_NAMES.get(scheduler, scheduler)}, {layout} {size} {cluster}"


def _cost_cases(layout: str, clusters: Sequence[str]) -> tuple[Case, ...]:
    return tuple(
        Case(
            _label(scheduler, layout, cluster, size),
            "micro-cost",
            scheduler,
            "cost",
            {"layout": layout, "cluster": cluster, "executors": size},
            _SEEDS.get(scheduler, (1,)),
        )
        for cluster in clusters
        for scheduler in _COST_RIVALS
        for size in SIZES
        # It is not defined on nodes of different size.
        if scheduler != "p-scheduler" or cluster == "homogeneous"
    )


def _optimal(scheduler: str, layout: str, cluster: str, but: Sequence[int] = ()) -> Equal:
    pairs = [
        (_label(scheduler, layout, cluster, size), _label("exact", layout, cluster, size))
        for size in SIZES
        if size not in but
    ]
    who = _NAMES.get(scheduler, scheduler)
    where = f"{layout}, {cluster}"
    return Equal(f"{who} finds the optimum: {where}, {len(pairs)} sizes", pairs, "between_nodes")


def _printed(scheduler: str, layout: str, cluster: str, values: dict[int, float]) -> Printed:
    sizes = ", ".join(map(str, values))
    who = "the optimum" if scheduler == "exact" else _NAMES.get(scheduler, scheduler)
    labels = {_label(scheduler, layout, cluster, size): value for size, value in values.items()}
    return Printed(f"{who}: {layout} of {sizes} executors, {cluster}", labels, "between_nodes")


def _not_above(layout: str) -> Order:
    labels = [_label(each, layout, "homogeneous", 32) for each in ("p-scheduler", "t3-scheduler")]
    sentence = f"P is not above T3: {layout} of 32, homogeneous"
    return Order(sentence, labels, "between_nodes", lower_is_better=True)


#: Claims of the cost figures by (scheduler, layout).
_COST_CLAIMS: dict[tuple[str, str], tuple[PaperClaim, ...]] = {
    ("p-scheduler", "linear"): (_optimal("p-scheduler", "linear", "homogeneous"),),
    ("p-scheduler", "diamond"): (
        # Printed as 22 executors, of which a diamond has 112 pairs: 124 is the optimum of 26. At 28
        # the thesis has made a node larger, and prints the optimum of that cluster.
        _printed("exact", "diamond", "homogeneous", {10: 10, 26: 124}),
        _printed("p-scheduler", "diamond", "homogeneous", {10: 11, 26: 125, 28: 138}),
        _optimal("p-scheduler", "diamond", "homogeneous", (10, 26, 28)),
    ),
    ("p-scheduler", "star"): (
        _printed("exact", "star", "homogeneous", {18: 44, 28: 84}),
        _printed("p-scheduler", "star", "homogeneous", {18: 46, 28: 84}),
        _optimal("p-scheduler", "star", "homogeneous", (18,)),
    ),
    ("t3-scheduler", "linear"): tuple(
        _optimal("t3-scheduler", "linear", cluster) for cluster in CLUSTERS
    ),
    ("t3-scheduler", "diamond"): (_not_above("diamond"),),
    ("t3-scheduler", "star"): (_not_above("star"),),
    (_PRINTED_I, "linear"): tuple(_optimal(_PRINTED_I, "linear", each) for each in CLUSTERS),
    (_PRINTED_I, "diamond"): (
        _optimal(_PRINTED_I, "diamond", "homogeneous"),
        _optimal(_PRINTED_I, "diamond", "heterogeneous", (30,)),
        _printed(_PRINTED_I, "diamond", "heterogeneous", {30: 148}),
    ),
    (_PRINTED_I, "star"): (
        _optimal(_PRINTED_I, "star", "homogeneous"),
        _optimal(_PRINTED_I, "star", "heterogeneous", (30,)),
        _printed("exact", "star", "heterogeneous", {30: 86}),
        _printed(_PRINTED_I, "star", "heterogeneous", {30: 90}),
    ),
}

#: Seconds of the thesis's solver for 32 executors (section 8.4).
_SOLVER_SECONDS = {
    ("linear", "heterogeneous"): 1_114_257.0,
    ("diamond", "homogeneous"): 2_471.0,
    ("diamond", "heterogeneous"): 393.0,
    ("star", "homogeneous"): 6.0,
    ("star", "heterogeneous"): 7.0,
}
#: What "near real-time" is taken for.
_REAL_TIME_S = 1.0


def _time_claims(scheduler: str, layout: str, clusters: Sequence[str]) -> Iterator[PaperClaim]:
    labels = [_label(scheduler, layout, cluster, size) for cluster in clusters for size in SIZES]
    who = _NAMES.get(scheduler, scheduler)
    yield Limit(f"{who} answers in near real-time: {layout}", labels, "seconds", _REAL_TIME_S, "s")
    for cluster in clusters:
        if (took := _SOLVER_SECONDS.get((layout, cluster))) is not None:
            yield Limit(
                f"the optimum takes long: {layout} of 32, {cluster}",
                [_label("exact", layout, cluster, 32)],
                "seconds",
                took,
                "s",
                at_least=True,
            )


def _cost_figures(
    numbers: Sequence[str], times: Sequence[str], scheduler: str, section: str
) -> Iterator[Figure]:
    clusters = CLUSTERS[:1] if scheduler == "p-scheduler" else CLUSTERS
    who = _NAMES.get(scheduler, scheduler)
    for number, layout in zip(numbers, LAYOUTS, strict=True):
        yield Figure(
            number,
            f"tuples/s between nodes, {layout} layout: {who} and the optimum",
            section,
            _cost_cases(layout, clusters),
            _COST_CLAIMS[scheduler, layout],
            "between_nodes",
            "tuples/s between nodes",
            drawn=_at_32(layout, clusters),
            takes_least=True,
        )
    for number, layout in zip(times, LAYOUTS, strict=True):
        yield Figure(
            number,
            f"seconds to place, {layout} layout: {who} and the optimum",
            section,
            _cost_cases(layout, clusters),
            tuple(_time_claims(scheduler, layout, clusters)),
            "seconds",
            "seconds",
            drawn=_at_32(layout, clusters),
        )


def _at_32(layout: str, clusters: Sequence[str]) -> tuple[str, ...]:
    return tuple(
        _label(scheduler, layout, cluster, 32)
        for cluster in clusters
        for scheduler in _COST_RIVALS
        if scheduler != "p-scheduler" or cluster == "homogeneous"
    )


_LOAD_VARIANTS: dict[str, Parameters] = {
    "transfer at a quarter of its cost": {"transfer": 0.25},
    "windows of 50": {"window": 50.0},
    "tuples of 1 KB": {"bytes_per_tuple": 1024.0},
}
_MICRO_VARIANTS: dict[str, Parameters] = {
    "transfer at a quarter of its cost": {"transfer": 0.25},
    "windows of 10": {"window": 10.0},
}


def _cluster_cases(workload: str, cluster: str, restricted: str = "") -> tuple[Case, ...]:
    cases = rivals(workload, "closed", {"cluster": cluster})
    if not restricted:
        return cases
    few = Case(f"ols on {restricted}", workload, "ols", "closed", {"cluster": restricted})
    return (*cases, few)


#: Tuples of 10 s for each bolt's task: printed averages (sections 7.6, 8.5, 9.5).
_LOAD_HIGH = {"p-scheduler": 6900, "t3-scheduler": 6600, "i-scheduler": 6900, "r-storm": 5200}
_TAXI_HIGH = {"p-scheduler": 15700, "t3-scheduler": 15700, "i-scheduler": 16000, "r-storm": 15500}
_TAXI_MIXED = {"t3-scheduler": 14900, "i-scheduler": 15700, "r-storm": 14800}


def _ratio(case: str, over: str, values: dict[str, int], base: int | None = None) -> Gain:
    below = values[over] if base is None else base
    ratio = values[case] / below
    near = abs(ratio - 1) < 0.04
    said = "similar to" if near else "above"
    return Gain(f"{case} {said} {over}", case, over, "executed", 1.0 if near else ratio)


def _load_claims(scheduler: str) -> tuple[PaperClaim, ...]:
    return (
        _ratio(scheduler, "r-storm", _LOAD_HIGH),
        _ratio(scheduler, "ols", _LOAD_HIGH, 3700),
        _ratio(scheduler, "ols on 4 high", _LOAD_HIGH, 5000),
        Printed(f"{scheduler} uses 4 of 8 nodes", {scheduler: 4}, "nodes"),
        Printed("ols uses 8 of 8 nodes", {"ols": 8}, "nodes"),
    )


def _taxi_claims(scheduler: str) -> tuple[PaperClaim, ...]:
    return (
        _ratio(scheduler, "r-storm", _TAXI_HIGH),
        _ratio(scheduler, "ols", _TAXI_HIGH, 9800),
        _ratio(scheduler, "ols on 3 high", _TAXI_HIGH, 13900),
        Printed(f"{scheduler} uses 3 of 8 nodes", {scheduler: 3}, "nodes"),
        Printed("ols uses 8 of 8 nodes", {"ols": 8}, "nodes"),
    )


def _mixed_load_claims(scheduler: str) -> tuple[PaperClaim, ...]:
    return tuple(
        Order(f"{scheduler} above {other}", [scheduler, other], "executed")
        for other in ("r-storm", "ols")
    )


def _mixed_taxi_claims(scheduler: str) -> tuple[PaperClaim, ...]:
    return (
        _ratio(scheduler, "r-storm", _TAXI_MIXED),
        _ratio(scheduler, "ols", _TAXI_MIXED, 13000),
    )


def _latency_claims(scheduler: str, others: Sequence[str]) -> tuple[PaperClaim, ...]:
    return tuple(
        Order(
            f"a tuple is at a task for less time under {scheduler} than under {other}",
            [scheduler, other],
            "task_ms",
            lower_is_better=True,
        )
        for other in others
    )


def _pair(
    numbers: tuple[str, str],
    workload: str,
    cluster: str,
    scheduler: str,
    claims: tuple[PaperClaim, ...],
    restricted: str,
    section: str,
) -> Iterator[Figure]:
    """Yield the figures of throughput and of latency of one application on one cluster."""
    cases = _cluster_cases(workload, cluster, restricted)
    named = workload.replace("-", " ")
    yield Figure(
        numbers[0],
        f"throughput of {named} on {cluster}: {scheduler}",
        section,
        cases,
        claims,
        "executed",
        "tuples of 10 s for a bolt's task",
        _LOAD_VARIANTS,
    )
    yield Figure(
        numbers[1],
        f"latency of {named} on {cluster}: {scheduler}",
        section,
        cases,
        _latency_claims(scheduler, ("r-storm", "ols")),
        "task_ms",
        "ms of a tuple at a task, waiting included",
        _LOAD_VARIANTS,
    )


def _micro_figure(number: str, intensity: str, scheduler: str, section: str) -> Figure:
    cluster = "1 high, 2 low" if intensity == "io" else "2 high, 4 low"
    cases = tuple(
        Case(
            f"{algorithm}, {layout}",
            "micro",
            algorithm,
            "closed",
            {"layout": layout, "intensity": intensity, "cluster": cluster},
        )
        for layout in LAYOUTS
        for algorithm in SIMULATED
    )

    def gain(layout: str, other: str, ratio: float) -> Gain:
        said = "similar to" if ratio == 1.0 else "above"
        sentence = f"{scheduler} {said} {other}: {layout}"
        return Gain(sentence, f"{scheduler}, {layout}", f"{other}, {layout}", "executed", ratio)

    def over_ols(layouts: Sequence[str], low: float, high: float) -> GainRange:
        pairs = [(f"{scheduler}, {each}", f"ols, {each}") for each in layouts]
        return GainRange(f"{scheduler} above ols", pairs, "executed", (low, high))

    diamond = {
        ("t3-scheduler", "io"): 1.20,
        ("i-scheduler", "io"): 1.25,
        ("t3-scheduler", "cpu"): 1.24,
        ("i-scheduler", "cpu"): 1.26,
    }[scheduler, intensity]
    low, high = {
        ("t3-scheduler", "io"): (1.07, 1.41),
        ("i-scheduler", "io"): (1.08, 1.46),
        ("t3-scheduler", "cpu"): (1.08, 1.33),
        ("i-scheduler", "cpu"): (1.10, 1.35),
    }[scheduler, intensity]
    return Figure(
        number,
        f"throughput of micro-benchmarks, {intensity.upper()}-intensive: {scheduler}",
        section,
        cases,
        (
            gain("diamond", "r-storm", diamond),
            gain("linear", "r-storm", 1.0),
            gain("star", "r-storm", 1.0),
            over_ols(LAYOUTS, low, high),
        ),
        "executed",
        "tuples of 10 s for a bolt's task",
        _MICRO_VARIANTS,
        drawn=tuple(
            f"{each}, {layout}"
            for layout in LAYOUTS
            for each in (scheduler, "r-storm", "ols", "cut")
        ),
    )


_LOST_EDGES = "the edges of its graph are drawn, and lost in the text that there is"


def _figures() -> Iterator[Figure]:
    p, t3, i = "p-scheduler", "t3-scheduler", "i-scheduler"
    for number, title, where in (
        ("4.3", "a graph of 5 tasks on 2 nodes, optimum 3", "4.4"),
        ("7.3", "P-Scheduler on 8 tasks", "7.3"),
    ):
        yield Figure(number, title, where, left_out=_LOST_EDGES)
    for number, title, where in (
        ("5.2-5.4", "the default scheduler on word count", "5.4"),
        ("8.2-8.5", "how T3-Scheduler splits groups", "8.3"),
        ("9.2", "I-Scheduler on 12 tasks", "9.3"),
    ):
        yield Figure(number, title, where, left_out=WORKED_EXAMPLE)
    yield from _cost_figures(("7.4", "7.5", "7.6"), ("7.7", "7.8", "7.9"), p, "7.5")
    yield from _pair(
        ("7.10", "7.11"), "load-prediction", "8 high", p, _load_claims(p), "4 high", "7.6.1"
    )
    yield from _pair(("7.12", "7.13"), "taxi", "8 high", p, _taxi_claims(p), "3 high", "7.6.2")
    yield from _cost_figures(("8.6", "8.7", "8.8"), ("8.9", "8.10", "8.11"), t3, "8.4")
    yield _micro_figure("8.12 a", "io", t3, "8.5.1")
    yield _micro_figure("8.12 b", "cpu", t3, "8.5.1")
    yield from _pair(
        ("8.13", "8.15"), "load-prediction", "8 high", t3, _load_claims(t3), "4 high", "8.5.2"
    )
    yield from _pair(
        ("8.14", "8.16"),
        "load-prediction",
        "2 high, 4 low",
        t3,
        _mixed_load_claims(t3),
        "",
        "8.5.2",
    )
    yield from _pair(("8.17", "8.19"), "taxi", "8 high", t3, _taxi_claims(t3), "3 high", "8.5.3")
    yield from _pair(
        ("8.18", "8.20"), "taxi", "2 high, 2 low", t3, _mixed_taxi_claims(t3), "", "8.5.3"
    )
    yield from _cost_figures(("9.3", "9.4", "9.5"), ("9.6", "9.7", "9.8"), _PRINTED_I, "9.4")
    yield _micro_figure("9.9 a", "io", i, "9.5.1")
    yield _micro_figure("9.9 b", "cpu", i, "9.5.1")
    yield from _pair(
        ("9.10", "9.12"), "load-prediction", "8 high", i, _load_claims(i), "4 high", "9.5.2"
    )
    yield from _pair(
        ("9.11", "9.13"), "load-prediction", "2 high, 4 low", i, _mixed_load_claims(i), "", "9.5.2"
    )
    yield from _pair(("9.14", "9.16"), "taxi", "8 high", i, _taxi_claims(i), "3 high", "9.5.3")
    yield from _pair(
        ("9.15", "9.17"), "taxi", "2 high, 2 low", i, _mixed_taxi_claims(i), "", "9.5.3"
    )


THESIS = Paper(
    "thesis",
    "L. Eskandari, Task scheduling in data stream processing systems, PhD thesis",
    "P-, T3- and I-Scheduler place near the optimum, and carry up to 1.33 times what R-Storm does "
    "and up to 1.86 times what OLS does.",
    "The cost figures are printed in full. Of the clusters, machines, components, parallelism and "
    "groupings are printed; work, sizes of tuples and windows are not. Throughput is simulated "
    "with sources that send as fast as their windows allow. Storm's execute latency leaves out "
    "the time that a tuple waits; ours counts it.",
    tuple(_figures()),
)
