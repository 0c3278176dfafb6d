"""`cut`: all the papers' ideas in one, and what none has.

Executors that can stand for one another are folded into groups, so that a placement is a matrix of
counts (groups, nodes); what it costs is the traffic that leaves nodes and racks, and a price for
each worker that restarts. The phases, each one function, each ending in a check:

1. `prepare`: limits and options as an instance, traffic in the unit that counts.
2. `build`: what runs now, made whole if restarts have a price (`replan`); of a large problem, a
   construction topology by topology (`construction`).
3. `cheapest`: where it is worth its time, a search (`search`); the cheapest is chosen.
4. `balance`: several placements, those of other algorithms among them, are annealed until no
   thread, node or link is needlessly full (`resource_annealing`), and the best by the order wins.
5. `seat`: executors to workers, workers to slots.
6. `bound`: beside all this, a proof of how good any placement can be.

Decisions:

C-1. Limits are the problem's own; ``cpu_share``, ``reserve``, ``balance`` and ``exclude`` lower
     them, ``pin`` and ``apart`` add to them. None of them is ever relaxed.
C-2. A local-or-shuffle stream counts as it flows wherever placements are annealed and compared,
     chains of them from end to end; in the search, and at a price for restarts, as if no target
     were in the worker.
C-3. Without a price for restarts everything is planned again; nodes that are alike then change
     names so that most executors stay. What runs now remains if it is no worse.
C-4. With a price, workers whose executors all stay on their node stay as they are, though one
     worker might hold those of two.
C-5. Placements are compared by the one order (`stormcut.objective.order`), unless ``objective``
     says otherwise. The search from which they come minimises traffic in tuples, or in bytes where
     tuples' sizes are measured (``traffic``).
C-6. What other algorithms found is among what is compared, so that none of them is ahead.

References
----------
Folding and objective: as `exact`. Search: see `search`, `construction`, `loops`. One worker per
topology and node: J. Xu et al., "T-Storm", ICDCS 2014; L. Eskandari's thesis, section 7.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from stormcut.arrays import Ints
from stormcut.model.placement import LowerBound, Placement, UpperBound
from stormcut.model.problem import Problem
from stormcut.objective.cut import inter_node_tuples_per_second
from stormcut.objective.order import PlacementValue
from stormcut.objective.verify import violations
from stormcut.placement.algorithms.cut.balance import BALANCES, balance, instances
from stormcut.placement.algorithms.cut.judges import JUDGES, MostHeadroom
from stormcut.placement.algorithms.cut.least_traffic import build, cheapest, near, refusal
from stormcut.placement.algorithms.cut.options import Options
from stormcut.placement.algorithms.cut.prepare import Task, prepare
from stormcut.placement.algorithms.cut.realise import Candidate, candidate, on_nodes, seat
from stormcut.placement.bounds.headroom_bound import headroom_bound
from stormcut.placement.bounds.lower_bound import lower_bound

__all__ = ["Options", "improve", "place"]

#: Share of the bound's effort where only what runs nowhere is placed, which takes no time itself.
#: A third of it proves 0.7 % less, three times as much 0.3 % more (docs/results/cut-constants.md).
HASTY = 0.3

#: Share by which a placement may exceed what is proven possible: rounding.
BOUND_TOLERANCE = 1e-6

Bound = LowerBound | UpperBound | None


def place(problem: Problem, rng: np.random.Generator, options: Options) -> Placement:
    """Return the placement of `cut`, with a proven bound.

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
    return improve(problem, rng, options, ())


def improve(
    problem: Problem,
    rng: np.random.Generator,
    options: Options,
    starts: Sequence[Placement],
    more: Callable[[], Sequence[Placement]] = tuple,
) -> Placement:
    """Return a placement at least as good as any of several to start from, as `place` does.

    Parameters
    ----------
    starts : sequence of Placement
        Of other algorithms; those that break a limit are left out.
    more : callable
        Returns further ones, which take long: asked where nothing found carries the rates.
    """
    task = prepare(problem, options)
    if not problem.executor_count:
        return Placement(np.zeros(0, dtype=np.int64))
    possible = [start for start in starts if _is_possible(task, start)]
    with bounding(task) as bound:
        best = (_least_traffic if task.saves_traffic else _balanced)(task, possible, rng)
        if not _is_carried(task, best, possible):
            further = [start for start in more() if _is_possible(task, start)]
            best = _improve_on(task, best, further, rng)
        if best is None:
            raise refusal(task, rng)
        slots = seat(task, best)
        return Placement(slots, bound=bound(best.nodes), notes=(*_fewer_workers(task, slots),))


def _fewer_workers(task: Task, slots: Ints) -> Iterator[str]:
    """Yield, of each topology that is to keep its workers, that it has fewer."""
    problem = task.problem
    for index, topology in enumerate(problem.topologies if task.keeps_workers else ()):
        own = slots[problem.executor_topology == index]
        count, wanted = len(np.unique(own)), topology.workers or 0
        if count < wanted:
            most = "executors" if count == len(own) else "free slots within the nodes' limits"
            yield f"{topology.id} has {count} workers, not the {wanted} it asks for: no more {most}"


def _is_possible(task: Task, start: Placement) -> bool:
    """Return whether a placement keeps within all limits, those of the options included."""
    if violations(task.problem, start):
        return False
    return task.instance.is_whole(task.instance.counted(task.problem.slot_node[start.slots]))


def _is_carried(task: Task, best: Candidate | None, starts: Sequence[Placement]) -> bool:
    """Return whether the best or a start carries the rates."""
    judge = JUDGES[task.options.objective](task)
    placements = [*starts, *([] if best is None else [judge.placement(best)])]
    return any(PlacementValue(task.problem, each).carries for each in placements)


def _improve_on(
    task: Task, best: Candidate | None, starts: Sequence[Placement], rng: np.random.Generator
) -> Candidate | None:
    """Return the best, or if a start is ahead of it, what annealing makes of these."""
    judge = JUDGES[task.options.objective](task)
    own = [Candidate(task.problem.slot_node[each.slots], each.slots) for each in starts]
    if best is None or any(judge.is_ahead(each, best) for each in own):
        built = [] if best is None else [task.instance.counted(best.nodes)]
        return balance(task, built, starts, _effort_for_each(task), rng) if starts else None
    return best


def _effort_for_each(task: Task) -> float:
    """Return the effort for each of the placements that are annealed."""
    return task.options.effort / (1 + len(BALANCES))


def _least_traffic(
    task: Task, starts: Sequence[Placement], rng: np.random.Generator
) -> Candidate | None:
    instance, effort = task.instance, task.effort
    begin = build(task, instance, effort, rng)
    counts = cheapest(task, instance, begin, effort, rng)
    # A search counts local-or-shuffle streams as if no target were in the worker.
    if task.flows and not task.options.restart_price:
        built = [] if counts is None else [counts]
        share = effort / (1 + len(BALANCES))
        return balance(task, built, starts, share, rng) if built or starts else None
    if counts is None:
        return None
    return candidate(task, on_nodes(task.problem, instance, counts))


def _balanced(
    task: Task, starts: Sequence[Placement], rng: np.random.Generator
) -> Candidate | None:
    """Return the best that is found from several balances and starts."""
    asked_all = instances(task)
    effort = task.effort / (1 + len(BALANCES))
    built: list[Ints] = []
    for instance in asked_all:
        begin = build(task, instance, effort, rng)
        counts = cheapest(task, instance, begin, effort, rng)
        built += [] if counts is None else [counts]
        if built and task.is_hasty:
            break
    built += near(task, effort, rng)
    return balance(task, built, starts, _effort_for_each(task), rng) if built or starts else None


@contextmanager
def bounding(task: Task) -> Iterator[Callable[[Ints], Bound]]:
    """Prove a bound meanwhile; what is yielded waits for it, given the nodes that were found.

    A lower bound on traffic in tuples, an upper one on head-room; none in bytes, which say nothing
    of tuples.
    """

    def proven(nodes: Ints) -> Bound:
        bound = running.result()
        assert _holds(task, nodes, bound)
        return bound

    # Its linear programs run in another process.
    with ThreadPoolExecutor(1) as beside:
        running = beside.submit(_bound, task)
        yield proven


def _bound(task: Task) -> Bound:
    effort = task.options.effort
    if task.options.objective == "headroom":
        return headroom_bound(task.problem, effort)
    if task.by_size:
        return None
    return lower_bound(task.problem, effort * (HASTY if task.stays else 1.0))


def _holds(task: Task, nodes: Ints, bound: Bound) -> bool:
    """Return whether a placement is no better than what is proven possible."""
    judge = MostHeadroom(task)
    if isinstance(bound, UpperBound):
        return judge.worth(judge.candidate(nodes))[0] <= bound.headroom * (1 + BOUND_TOLERANCE)
    if isinstance(bound, LowerBound):
        # In tuples, whatever counts.
        crossing = inter_node_tuples_per_second(
            task.problem, judge.placement(judge.candidate(nodes))
        )
        tolerance = BOUND_TOLERANCE * max(1.0, task.instance.groups.total)
        return bound.tuples_per_second <= crossing + tolerance
    return True
