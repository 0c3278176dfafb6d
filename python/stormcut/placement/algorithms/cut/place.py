"""`cut`: all the papers' ideas in one, and what none has.

Executors that can stand for one another are folded into groups, so that a placement is a matrix of
counts (groups, nodes); what it costs is the traffic that leaves nodes and racks, and a price for
each worker that restarts. Small problems are searched (`search`), large ones built topology by
topology (`construct`); with a price for restarts, what runs now is completed and improved
(`replan`). Every topology then gets one worker on each of its nodes, or as many in all as it asks
for (``workers=keep``).

Decisions:

C-1. Limits are the problem's own; ``cpu_share``, ``headroom``, ``balance`` and ``exclude`` lower
     them, ``pin`` and ``apart`` add to them. None of them is ever relaxed.
C-2. A local-or-shuffle stream counts as if no target were in the worker, which never flatters a
     placement.
C-3. Without a price for restarts everything is planned anew; nodes that are alike then change names
     so that most executors stay. What runs now remains if it is no worse.
C-4. With a price, workers whose executors all stay on their node stay as they are, though one
     worker might hold those of two.
C-5. Of placements with the least traffic found, the one whose busiest link is least busy
     (`evening`), where no price, pins, ``apart`` or racks count; ``relief`` lets traffic rise
     for it.
C-6. Traffic counts in tuples, as in the papers, or in bytes (``traffic``), which links carry:
     these where tuples' sizes are measured. Then traffic may rise by `RELIEF`, and no node has more
     CPU in use than its fair share and a little (`EVEN`), or half of what it can (`SPARE`), where
     limits leave room for that.
C-7. Most head-room: placements with least traffic under several ``balance``, and what runs now,
     are annealed (`headroom`); that with most head-room wins, of like ones that with least traffic
     between nodes. What runs now stays if that gains less than `LITTLE` in both.

References
----------
Folding and objective: as `exact`. Search: see `search`, `construct`, `replan`. One worker per
topology and node: J. Xu et al., "T-Storm", ICDCS 2014; L. Eskandari's thesis, section 7.3.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from stormcut.model.errors import Infeasible
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.placement.algorithms.cut.construct import fill
from stormcut.placement.algorithms.cut.evening import evened, links, rate_matrix
from stormcut.placement.algorithms.cut.headroom import Judge, raised
from stormcut.placement.algorithms.cut.instance import Instance, instance
from stormcut.placement.algorithms.cut.keeping import kept_workers
from stormcut.placement.algorithms.cut.kernels import cost_at, noise
from stormcut.placement.algorithms.cut.options import Options
from stormcut.placement.algorithms.cut.replan import replan
from stormcut.placement.algorithms.cut.search import search
from stormcut.placement.algorithms.cut.state import Prices, model_of
from stormcut.placement.algorithms.cut.staying import like_before, on_nodes
from stormcut.placement.algorithms.cut.weighing import is_measured, weighed
from stormcut.placement.bounds.headroom_bound import headroom_bound
from stormcut.placement.bounds.lower_bound import lower_bound
from stormcut.placement.packing.capacity import CPU, EXECUTORS, MEMORY, hosts
from stormcut.placement.packing.fit import fit
from stormcut.placement.slots.seating import seat

__all__ = ["Options", "place"]

Ints = npt.NDArray[np.int64]

#: Share by which traffic in bytes may rise by default, to relieve the busiest link.
RELIEF = 0.3

#: Fair shares of CPU a node may have where tuples' sizes, and so CPU, are measured: the first of
#: these that limits, and how large single executors are, leave room for.
EVEN = (1.2, 1.5, 2.0)

#: Share of a node's CPU that may be used whatever the others have: there is enough left.
SPARE = 0.5

#: Links this many times as busy are alike: annealing finds a little more or less each time.
ALIKE = 1.05

#: Problems of more groups times nodes are built and not searched.
MOST_COUNTS = 30_000

#: Share of the bound's effort where only what runs nowhere is placed, which takes no time itself.
HASTY = 0.3

#: Fair shares of CPU a node from which the search for most head-room begins; of large problems.
BALANCES, FEW_BALANCES = (1.05, 1.2, 1.5, 2.0), (1.2,)

#: What is gained by less is not worth a move: it is within what is known of loads.
LITTLE = 0.01

RESOURCES = (CPU, EXECUTORS, MEMORY)

#: Limits that may bind, in the order in which a refusal names them.
BINDING = ("pin", "apart", "cpu", "memory", "max_executors", "slots")


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return the placement of `cut`, with a proven lower bound.

    Raises
    ------
    InvalidInput
        An option names what the problem does not have.
    Infeasible
        No placement was found; says which limit binds.

    Notes
    -----
    Takes O(groups x nodes) for each step of the search or of the construction; memory
    O(executors + groups x nodes).
    """
    if options.objective == "headroom" and problem.executor_count:
        return _with_most_headroom(problem, rng, options)
    by_size = options.traffic == "bytes" or (options.traffic == "auto" and is_measured(problem))
    if by_size and problem.executor_count:
        return _by_size(problem, rng, options)
    asked = instance(problem, options)
    if not problem.executor_count:
        return Placement(np.zeros(0, dtype=np.int64))
    # Its linear programs run in another process meanwhile.
    with ThreadPoolExecutor(1) as beside:
        effort = options.effort * (HASTY if _stays(problem, options) else 1.0)
        bound = beside.submit(lower_bound, problem, effort)
        return replace(_placed(problem, asked, rng, options), bound=bound.result())


def _by_size(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return the placement by bytes; a bound in bytes says nothing of tuples."""
    weighty = weighed(problem)[0]
    options = replace(
        options,
        traffic="tuples",
        relief=RELIEF if options.relief is None else options.relief,
    )
    even = EVEN if options.balance is None else ()
    return _placed(weighty, instance(weighty, options), rng, options, even)


def _with_most_headroom(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return the placement that carries most, with a proven bound on what any carries."""
    with ThreadPoolExecutor(1) as beside:
        bound = beside.submit(headroom_bound, problem, options.effort)
        weighty = weighed(problem)[0] if options.traffic != "tuples" else problem
        asked = instance(weighty, options)
        nodes = _most_headroom(problem, weighty, asked, options, rng)
        if nodes is None:
            raise _refusal(weighty, asked, options, rng)
        return replace(_seated(problem, nodes, options), bound=bound.result())


def _most_headroom(
    problem: Problem,
    weighty: Problem,
    asked: Instance,
    options: Options,
    rng: np.random.Generator,
) -> Ints | None:
    judge = Judge(problem)
    balances = FEW_BALANCES if _is_large(asked) else BALANCES
    few = replace(options, effort=options.effort / (len(balances) + 1))
    starts = []
    for tried in (asked, *(asked.balanced(each) for each in balances)):
        counts = _least_cut(weighty, tried, few, rng)
        if counts is not None:
            starts.append(on_nodes(problem, asked.groups, counts))
    now = _now(asked)
    if now is not None:
        starts.append(on_nodes(problem, asked.groups, now))
    found = [raised(judge, asked, nodes, few.effort, rng) for nodes in starts]
    if not found:
        return None
    best = max(found, key=judge.worth)
    if now is not None and not _is_better(judge.worth(best), judge.worth(starts[-1])):
        return starts[-1]
    return _renamed(problem, asked, best, judge)


def _is_better(found: tuple[float, float], now: tuple[float, float]) -> bool:
    """Return whether a (head-room, less traffic) is better than another by what counts."""
    more, as_much = found[0] > now[0] * (1 + LITTLE), found[0] >= now[0]
    return more or (as_much and found[1] > now[1] * (1 - LITTLE))


def _renamed(problem: Problem, asked: Instance, nodes: Ints, judge: Judge) -> Ints:
    """Return nodes renamed so that most executors stay, unless links that differ forbid it."""
    counts = np.zeros(asked.shape, dtype=np.int64)
    np.add.at(counts, (asked.groups.of, nodes), 1)
    alike = on_nodes(problem, asked.groups, like_before(asked, counts))
    return alike if judge.worth(alike) >= judge.worth(nodes) else nodes


def _stays(problem: Problem, options: Options) -> bool:
    return options.restart_price > 0 and problem.current is not None


def _placed(
    problem: Problem,
    asked: Instance,
    rng: np.random.Generator,
    options: Options,
    balances: tuple[float, ...] = (),
) -> Placement:
    """Return the placement with the first balance that limits leave room for, else with none."""
    for tried in (*(asked.balanced(each, SPARE) for each in balances), asked):
        counts = _least_cut(problem, tried, options, rng)
        if counts is not None:
            break
    else:
        raise _refusal(problem, asked, options, rng)
    nodes = on_nodes(problem, asked.groups, _evened(problem, tried, counts, options, rng))
    return _seated(problem, nodes, options)


def _seated(problem: Problem, nodes: Ints, options: Options) -> Placement:
    stay = _stays(problem, options)
    workers = _workers_now(problem, nodes) if stay else np.zeros(len(nodes), dtype=np.int64)
    if options.workers == "keep":
        workers = kept_workers(problem, nodes, _workers_now(problem, nodes))
    return Placement(seat(problem, nodes, workers))


def _evened(
    problem: Problem, asked: Instance, counts: Ints, options: Options, rng: np.random.Generator
) -> Ints:
    """Return counts whose busiest link is relieved, if nothing but what it carries counts.

    What runs now, if nothing has less traffic, stays as it is.
    """
    priced = options.restart_price > 0 or np.ptp(asked.rack) > 0 or options.pin or options.apart
    if priced or _same(counts, asked.start):
        return counts
    relief = options.relief or 0.0
    before = on_nodes(problem, asked.groups, counts)
    nodes = evened(problem, before, asked.limits, asked.slots, relief, options.effort, rng)
    now = _now(asked)
    if relief > 0 and now is not None and not np.array_equal(nodes, before):
        running = on_nodes(problem, asked.groups, now)
        if _is_as_even(problem, running, nodes, before, relief):
            return now
    result = np.zeros_like(counts)
    np.add.at(result, (asked.groups.of, nodes), 1)
    return like_before(asked, result)


def _is_as_even(problem: Problem, running: Ints, found: Ints, least: Ints, relief: float) -> bool:
    """Return whether what runs has hardly a busier link than what was found, nor more traffic."""
    rates = rate_matrix(problem)
    now, then, base = (links(rates, nodes, len(problem.nodes)) for nodes in (running, found, least))
    allowed = base[0].sum() * (1 + relief)
    return bool(now[0].sum() <= allowed * ALIKE and now.max() <= then.max() * ALIKE)


def _same(counts: Ints, start: Ints | None) -> bool:
    return start is not None and np.array_equal(counts, start)


def _prices(options: Options) -> Prices:
    _, node, rack = options.distances
    return node, rack - node, options.restart_price


def _least_cut(
    problem: Problem, asked: Instance, options: Options, rng: np.random.Generator
) -> Ints | None:
    """Return the cheapest counts found, None if none keep within all limits."""
    prices = _prices(options)
    kept = _now(asked)
    if options.restart_price > 0 and asked.start is not None and asked.start.any():
        planned = replan(asked, prices, rng, options.effort)
        starts = [] if planned is None else [planned]
        if planned is not None and _is_large(asked):
            return planned
    else:
        starts = [] if kept is None else [kept]
    built = _built(problem, asked, options, rng, starts)
    found = [*starts, *([] if built is None else [built])]
    if not found:
        return None
    # From scratch as good as what runs is no reason to move anything.
    model = model_of(asked, prices)
    costs = [float(cost_at(model, counts)) for counts in found]
    slack = noise(asked.groups.total)
    if options.restart_price == 0 and kept is not None and costs[0] <= min(costs) + slack:
        return kept
    best = found[int(np.argmin(costs))]
    return best if options.restart_price > 0 else like_before(asked, best)


def _built(
    problem: Problem,
    asked: Instance,
    options: Options,
    rng: np.random.Generator,
    starts: list[Ints],
) -> Ints | None:
    """Return counts from nothing, or improved from those given."""
    if _is_large(asked):
        built = fill(asked, rng, options.effort)
        return _fitted(problem, asked) if built is None else built
    found = search(asked, _prices(options), options.effort, rng, starts)
    return _fitted(problem, asked) if found is None else found


def _is_large(asked: Instance) -> bool:
    groups, nodes = asked.shape
    return groups * nodes > MOST_COUNTS


def _now(asked: Instance) -> Ints | None:
    """Return the counts of what runs now if that is complete and within all limits."""
    start = asked.start
    if start is None or (start.sum(axis=1) != asked.groups.size).any():
        return None
    return start if asked.admits(start) else None


def _fitted(problem: Problem, asked: Instance) -> Ints | None:
    """Return counts of a placement that merely fits, packed with ejection where needed."""
    able = hosts(problem)
    use = asked.slots[able.ordinals] > 0
    limits = asked.limits[able.ordinals][use, : len(RESOURCES)]
    able = replace(able, ordinals=able.ordinals[use], slots=able.slots[use], limits=limits)
    nowhere = np.full(problem.executor_count, -1, dtype=np.int64)
    nodes = fit(problem, nowhere, able)
    if nodes is None:
        return None
    counts = np.zeros(asked.shape, dtype=np.int64)
    np.add.at(counts, (asked.groups.of, nodes), 1)
    return counts if asked.admits(counts) else None


def _workers_now(problem: Problem, nodes: Ints) -> Ints:
    """Return a number for each executor; those that share a slot now and stay share it.

    Only where all executors that a topology has on a node ran there before, and no other did; the
    rest gets number 0, one worker.
    """
    before = problem.current_nodes()
    homes = len(problem.nodes)
    after_key = problem.executor_topology * homes + nodes
    before_key = problem.executor_topology * homes + before
    strange = np.unique(np.concatenate((after_key[before != nodes], before_key[before != nodes])))
    same: Ints = np.where(np.isin(after_key, strange), 0, problem.current_slots() + 1)
    return same


def _refusal(
    problem: Problem, asked: Instance, options: Options, rng: np.random.Generator
) -> Infeasible:
    """Return an error that names the limit without which a placement is found."""
    if not (asked.slots > 0).any():
        return Infeasible("cut found none: no node may be used", "slots")
    given = {"pin": asked.allowed is not None, "apart": asked.load.shape[1] > len(RESOURCES)}
    for limit in (each for each in BINDING if given.get(each, True)):
        relaxed = asked.without(limit)
        if _quickly(problem, relaxed, options, rng) is not None:
            return Infeasible(f"cut found none; without the limit of {limit} there is one", limit)
    return Infeasible("cut found none, nor one with any single limit lifted", "cpu")


def _quickly(
    problem: Problem, relaxed: Instance, options: Options, rng: np.random.Generator
) -> Ints | None:
    hasty = replace(options, effort=0.0, restart_price=0.0)
    return _built(problem, relaxed, hasty, rng, [])
