"""Every placement algorithm by name, and how its options are given as text."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from stormcut.model.errors import InvalidInput
from stormcut.model.network import UNKNOWN
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.objective.order import ENOUGH_ROOM
from stormcut.placement.acceptance import Acceptance
from stormcut.placement.packing.capacity import node_limits

#: Whether an algorithm with these options, for a topology that runs or does not, uses measured
#: traffic.
TrafficUse = Callable[[Any, bool], bool]


def _always(options: Any, running: bool) -> bool:
    return True


def _never(options: Any, running: bool) -> bool:
    return False


#: Head-room beyond which more does not count for an algorithm with these options, where tuples'
#: sizes are measured or not.
Enough = Callable[[Any, bool], float]

#: Names of the algorithms whose placements are improved on.
Starts = Callable[[Any, int, bool], tuple[str, ...]]
Improve = Callable[
    [Problem, np.random.Generator, Any, Sequence[Placement], Callable[[], Sequence[Placement]]],
    Placement,
]

#: The thesis fills nodes to 80 %, and what transfer costs comes on top.
FILLED = 1.15


def _filled(options: Any, sized: bool) -> float:
    return FILLED


def _no_amount(options: Any, sized: bool) -> float:
    return math.inf


def _for_cut(options: Any, sized: bool) -> float:
    """Return what is enough for an objective."""
    if options.objective == "headroom":
        return math.inf
    saves = options.objective == "cut" or (options.objective == "auto" and options.restart_price)
    return FILLED if saves else ENOUGH_ROOM


#: Algorithms whose placements `cut` improves on, so that none is ahead of it, and the maximum
#: number of executors for which each answers in a tenth of a second or of the time that `cut` takes
#: then. `exact` takes longer, and minimises what the search of `cut` does.
_REACH = {
    "dsm": 100_000,
    "even": 10_000,
    "ols-offline": 5_000,
    "pipeline-linear": 5_000,
    "metis-tasks": 3_000,
    "stromax": 3_000,
    "bframework": 2_000,
    "caps": 2_000,
    "r-storm": 2_000,
    "sam": 2_000,
    "r-storm-distance": 1_500,
    "rsm": 1_500,
    "t3-scheduler": 1_500,
    "p-scheduler": 1_000,
    "ols": 100,
}
#: Those that may take seconds, asked where nothing else carries the rates. I-Scheduler puts several
#: workers of a topology on a node, each with its own local-or-shuffle targets; no search here does.
_LAST_REACH = {"i-scheduler": 100}
#: Share of that for a search without any effort.
_MIN_REACH = 0.01


def _starts_of_cut(options: Any, executors: int, is_overloaded: bool) -> tuple[str, ...]:
    """Return what `cut` starts from; nothing where what runs counts by a price."""
    if options.restart_price:
        return ()
    haste = min(1.0, max(options.effort, _MIN_REACH))
    reaches = _LAST_REACH if is_overloaded else _REACH
    return tuple(name for name, reach in reaches.items() if executors <= reach * haste)


def _once_it_runs(options: Any, running: bool) -> bool:
    """Bootstrap and the off-line scheduler look at the topology's structure only."""
    return running and options.mode not in ("bootstrap", "offline")


#: Features of a problem that not every algorithm counts, and how to detect them.
LIMITS, LOCAL, LINKS, RACKS = "limits of nodes", "local-or-shuffle", "links", "racks"
FEATURES: dict[str, Callable[[Problem], bool]] = {
    LIMITS: lambda problem: bool(np.isfinite(node_limits(problem)).any()),
    LOCAL: lambda problem: any(block.local_first for block in problem.traffic.blocks),
    LINKS: lambda problem: any(node.link != UNKNOWN for node in problem.nodes),
    RACKS: lambda problem: len({node.rack for node in problem.nodes}) > 1,
}


@dataclass(frozen=True)
class Algorithm:
    """A placement algorithm.

    Parameters
    ----------
    name : str
    summary : str
        One line for people.
    source : str
        Where it comes from.
    exact : bool
        Whether it proves its placement to be optimal.
    needs_traffic : bool
        Whether it refuses without traffic.
    enough : callable
        ``enough(options, sized) -> float``: head-room beyond which more is not what it is after,
        where tuples' sizes are measured or not.
    uses_traffic : callable
        ``uses_traffic(options, running) -> bool``: whether measured rates can change its placement.
    one_capacity : bool
        Whether it takes all nodes for equal; ``capacity=smallest`` makes them so.
    joint : bool
        Whether it weighs several topologies against each other; others place one after another.
    fills_cpu : bool
        Whether it fills nodes' CPU to the brim unless ``cpu_share`` says less.
    knows_capacity : bool
        Whether what nodes can hold may change its placement: CPU, memory, executors.
    counts : tuple of str
        What else of `FEATURES` it counts; what it does not count, it takes as if it were not there.
    by_declaration : bool
        Whether in Storm it packs by the CPU that executors declare, whatever was measured.
    keeps_workers : bool
        Whether its option ``workers`` can be ``keep``: as many as `topology.workers`.
    is_baseline : bool
        Whether it is what the others are compared with: the one that Storm uses without us.
    module : str
        Module of `stormcut.placement.algorithms` that holds its ``place`` and ``Options``; imported
        when it is used, so that no command waits for solvers that it does not need.
    starts_from : callable, optional
        ``starts_from(options, executors, is_overloaded) -> names``: algorithms whose placements of
        a problem of that size it improves on, or further ones where neither these nor what it
        finds carries the rates. Its module has ``improve``, too.
    start_options : mapping
        Its options where another algorithm improves on its placement.
    accepts_by : str, optional
        Module that holds its own rule of when a running topology moves, as `Acceptance`; imported
        likewise. None: the brain's rule.
    """

    name: str
    summary: str
    source: str
    module: str
    exact: bool = False
    needs_traffic: bool = False
    enough: Enough = _filled
    uses_traffic: TrafficUse = _always
    one_capacity: bool = False
    joint: bool = False
    fills_cpu: bool = False
    knows_capacity: bool = True
    counts: tuple[str, ...] = ()
    by_declaration: bool = False
    keeps_workers: bool = False
    is_baseline: bool = False
    accepts_by: str | None = None
    starts_from: Starts | None = None
    start_options: Mapping[str, str] = field(default_factory=dict)

    def ignores(self, problem: Problem) -> list[str]:
        """Return what a problem has that the algorithm does not count."""
        known = {*self.counts, *((LIMITS,) if self.knows_capacity else ())}
        return [name for name, has in FEATURES.items() if name not in known and has(problem)]

    @property
    def options(self) -> type[Any]:
        """Frozen dataclass of its options; checks their values itself."""
        options: type[Any] = _loaded(self.module).Options
        return options

    @cached_property
    def option_types(self) -> Mapping[str, Any]:
        """Types of its options, evaluated once."""
        return get_type_hints(self.options)

    @property
    def place(self) -> Callable[[Problem, np.random.Generator, Any], Placement]:
        """``place(problem, rng, options) -> Placement``, deterministic for a seed of ``rng``."""
        place: Callable[[Problem, np.random.Generator, Any], Placement] = _loaded(self.module).place
        return place

    @property
    def improve(self) -> Improve:
        """``improve(problem, rng, options, starts, more) -> Placement``, of ``starts_from``."""
        improve: Improve = _loaded(self.module).improve
        return improve

    @property
    def acceptance(self) -> Acceptance | None:
        """Its own rule of when a running topology moves, None if it has none."""
        if self.accepts_by is None:
            return None
        rule: Acceptance = _loaded(self.accepts_by)
        return rule


def _loaded(module: str) -> Any:
    return importlib.import_module(f"stormcut.placement.algorithms.{module}")


_THESIS = "Eskandari, thesis on task scheduling in data stream processing systems"
_MODEL_DRIVEN = "Shukla and Simmhan, model-driven scheduling, JPDC 117 (2018)"

_ALGORITHMS = (
    Algorithm(
        "cut",
        "the best by the one order: room for the rates asked for, then least traffic between nodes",
        "stormcut's own, from the ideas of the others",
        "cut.place",
        starts_from=_starts_of_cut,
        enough=_for_cut,
        fills_cpu=True,
        keeps_workers=True,
        joint=True,
        counts=(LOCAL, LINKS, RACKS),
    ),
    Algorithm(
        "even",
        "deals executors to slots in turn, blind to load, traffic and capacity",
        "Apache Storm 1.2.4, EvenScheduler",
        "storm.even",
        uses_traffic=_never,
        knows_capacity=False,
        is_baseline=True,
    ),
    Algorithm(
        "default",
        "even, after freeing the workers whose number of executors is uneven",
        "Apache Storm 1.2.4, DefaultScheduler",
        "storm.default",
        uses_traffic=_never,
        knows_capacity=False,
    ),
    Algorithm(
        "r-storm",
        "connected executors side by side on the nodes with most CPU and memory left",
        "Apache Storm 1.2.4, ResourceAwareScheduler with DefaultResourceAwareStrategy",
        "storm.r_storm",
        uses_traffic=_never,
        by_declaration=True,
        counts=(RACKS,),
    ),
    Algorithm(
        "p-scheduler",
        "fewest nodes that carry the load, METIS cuts the traffic between them",
        f"Eskandari et al., P-Scheduler, ACSW 2016; {_THESIS}, chapter 7",
        "p_scheduler",
        needs_traffic=True,
        one_capacity=True,
        joint=True,
    ),
    Algorithm(
        "t3-scheduler",
        "fills nodes, largest first, with groups of executors that exchange most",
        f"Eskandari et al., T3-Scheduler, FGCS 89 (2018); {_THESIS}, chapter 8",
        "t3_scheduler.place",
        needs_traffic=True,
        joint=True,
    ),
    Algorithm(
        "i-scheduler",
        "fuses well connected executors until a solver can place what is left",
        f"Eskandari et al., I-Scheduler, 2018; {_THESIS}, chapter 9",
        "i_scheduler.place",
        needs_traffic=True,
        joint=True,
    ),
    Algorithm(
        "metis-tasks",
        "a graph partitioner divides the executors straight into workers, one for each node",
        "Fischer and Bernstein, workload scheduling by graph partitioning, IEEE Big Data 2015",
        "metis_tasks",
        joint=True,
    ),
    Algorithm(
        "t-storm",
        "executors with most traffic first, each to the node where most of it stays",
        "Xu et al., T-Storm, ICDCS 2014",
        "t_storm",
        joint=True,
    ),
    Algorithm(
        "r-storm-distance",
        "executors breadth-first from the spouts to the node closest in resources and network",
        "Peng et al., R-Storm, Middleware 2015; Apache Storm 1.0.x",
        "r_storm_distance",
        uses_traffic=_never,
        by_declaration=True,
        counts=(RACKS,),
    ),
    Algorithm(
        "pipeline-linear",
        "transposes tasks over nodes, each sends to one at a time; blind to load and traffic",
        "Tantalaki et al., pipeline-based linear scheduling, IEEE Access 2020",
        "pipeline_linear.place",
        uses_traffic=_never,
    ),
    Algorithm(
        "bframework",
        "keeps operators with heavy output together, spreads the others; off-line and online",
        "Mortazavi-Dehkordi and Zamanifar, Bframework, Intell. Data Anal. 23 (2019), reconstructed",
        "bframework.place",
        accepts_by="bframework.acceptance",
        enough=_no_amount,
        uses_traffic=_once_it_runs,
    ),
    Algorithm(
        "dsm",
        "deals executors to the slots of all nodes in turn, blind to load, traffic and capacity",
        f"{_MODEL_DRIVEN}, section 7.2",
        "model_driven.dsm",
        uses_traffic=_never,
        knows_capacity=False,
    ),
    Algorithm(
        "rsm",
        "one executor of each component in turn to the node that it fits best, as R-Storm",
        f"{_MODEL_DRIVEN}, section 7.3",
        "model_driven.rsm",
        uses_traffic=_never,
    ),
    Algorithm(
        "sam",
        "a slot of its own for each bundle of one component's executors that fills a core",
        f"{_MODEL_DRIVEN}, section 7.4",
        "model_driven.sam",
        uses_traffic=_never,
    ),
    Algorithm(
        "exact",
        "proven least traffic between nodes, or the best found in time and a bound",
        f"optimum of {_THESIS}, section 4.3; here by set partitioning over node patterns",
        "exact.place",
        exact=True,
        joint=True,
        counts=(LOCAL,),
    ),
    Algorithm(
        "stromax",
        "streams executors to the node with most neighbours and room; moves them off busy nodes",
        "Jiang et al., StroMAX",
        "stromax.place",
        accepts_by="stromax.acceptance",
        enough=_no_amount,
        uses_traffic=_once_it_runs,
        joint=True,
        # By default it may leave all as it runs, which is no other start.
        start_options={"steps": "both"},
    ),
    Algorithm(
        "ols-offline",
        "fills workers along the streams, deals them to nodes; blind to load and traffic",
        "Aniello, Baldoni and Querzoni, adaptive online scheduling in Storm, DEBS 2013, offline",
        "ols.offline",
        uses_traffic=_never,
    ),
    Algorithm(
        "ols",
        "puts pairs of executors, then of workers, with most traffic together first",
        "Aniello, Baldoni and Querzoni, adaptive online scheduling in Storm, DEBS 2013, online",
        "ols.place",
        accepts_by="ols.acceptance",
        needs_traffic=True,
        joint=True,
    ),
    Algorithm(
        "caps",
        "searches for the plan whose busiest node has least CPU and network load",
        "Wang et al., CAPSys: contention-aware task placement, EuroSys 2025",
        "caps.place",
        enough=_no_amount,
        joint=True,
        counts=(LOCAL,),
    ),
)

#: What Storm itself does with topologies that declare no resources, and with those that do.
OF_STORM, OF_STORM_BY_DECLARATION = "even", "r-storm"

ALGORITHMS = {each.name: each for each in _ALGORITHMS}

#: What the others are compared with.
(BASELINE,) = (each.name for each in _ALGORITHMS if each.is_baseline)


def algorithm(name: str) -> Algorithm:
    """Return the algorithm of that name.

    Raises
    ------
    InvalidInput
        There is none.
    """
    if name not in ALGORITHMS:
        raise InvalidInput(f"no algorithm {name!r}; there are {', '.join(sorted(ALGORITHMS))}")
    return ALGORITHMS[name]


def has_option(name: str, option: str) -> bool:
    """Return whether the algorithm of that name has an option of that name."""
    return any(field.name == option for field in fields(algorithm(name).options))


def parse_options(algorithm: Algorithm, given: Mapping[str, str]) -> Any:
    """Return an algorithm's options from ``KEY=VALUE`` texts.

    Types are those of the dataclass: numbers, true or false, one of several words, lists separated
    by commas; ``none`` where None is allowed.

    Raises
    ------
    InvalidInput
        It has no such option, or the value is not allowed; names what is.
    """
    types = algorithm.option_types
    names = [field.name for field in fields(algorithm.options)]
    for key in given:
        if key not in names:
            allowed = f"its options are {', '.join(names)}" if names else "it has no options"
            raise InvalidInput(f"{algorithm.name} has no such option; {allowed}", f"option {key}")
    return algorithm.options(**{key: _value(key, types[key], text) for key, text in given.items()})


def _value(key: str, kind: Any, text: str) -> Any:
    if NoneType in get_args(kind):
        if text == "none":
            return None
        (kind,) = (each for each in get_args(kind) if each is not NoneType)
    if get_origin(kind) is tuple:
        parts = (each.replace("\\,", ",") for each in re.split(r"(?<!\\),", text) if each)
        return tuple(_value(key, get_args(kind)[0], each) for each in parts)
    words = ("false", "true") if kind is bool else get_args(kind)
    if words and text not in words:
        raise InvalidInput(f"must be {' or '.join(words)}, not {text!r}", f"option {key}")
    if kind is bool:
        return text == "true"
    if get_origin(kind) is Literal:
        return text
    try:
        return kind(text)
    except ValueError:
        wanted = {int: "a whole number", float: "a number"}[kind]
        raise InvalidInput(f"must be {wanted}, not {text!r}", f"option {key}") from None
