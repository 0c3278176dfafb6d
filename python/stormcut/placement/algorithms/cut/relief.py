"""Of placements with least traffic, one whose links are evenly busy.

Where links bind, a topology is as fast as its busiest link lets it be: what a node sends and what
it receives are separate (links are full duplex). Total traffic between nodes, which the papers
minimise, says nothing of how it is spread; many placements share the least.

Where traffic counts in bytes it may rise by `RELIEF`, and no node has more CPU in use than its fair
share and a little (`EVEN`), or half of what it can (`SPARE`), where limits leave room for that.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stormcut.model.problem import Problem
from stormcut.placement.algorithms.cut.alignment import like_before, on_nodes
from stormcut.placement.algorithms.cut.balancing import Capacities, least_busy, pairs, resources
from stormcut.placement.algorithms.cut.instance import Instance
from stormcut.placement.algorithms.cut.model import Floats, Ints
from stormcut.placement.algorithms.cut.prepare import Task, running

#: Share by which traffic in bytes may rise by default, to relieve the busiest link.
RELIEF = 0.3

#: Fair shares of CPU a node may have where tuples' sizes, and so CPU, are measured: the first of
#: these that limits, and how large single executors are, leave room for.
EVEN = (1.2, 1.5, 2.0)

#: Share of a node's CPU that may be used whatever the others have: there is enough left.
SPARE = 0.5

#: Links this many times as busy are alike: annealing finds a little more or less each time.
ALIKE = 1.05

#: Of more executors, relief is not worth its time.
MOST_EXECUTORS = 500


def instances(task: Task) -> Iterator[Instance]:
    """Yield the instances to try, the most even first; the last has no more limits than asked."""
    if task.by_size and task.options.balance is None:
        yield from (task.instance.balanced(each, SPARE) for each in EVEN)
    yield task.instance


def balance(task: Task, asked: Instance, counts: Ints, rng: np.random.Generator) -> Ints:
    """Return executors' nodes, the busiest link relieved if nothing but what it carries counts.

    What runs now, if nothing has less traffic, stays as it is.
    """
    problem, options = task.weighed, task.options
    before = on_nodes(problem, asked, counts)
    priced = options.restart_price > 0 or np.ptp(asked.rack) > 0 or options.pin or options.apart
    if priced or (asked.start is not None and np.array_equal(counts, asked.start)):
        return before
    relief = (RELIEF if task.by_size else 0.0) if options.relief is None else options.relief
    nodes = relieved(problem, asked, before, relief, options.effort, rng)
    now = running(asked)
    if relief > 0 and now is not None and not np.array_equal(nodes, before):
        present = on_nodes(problem, asked, now)
        if _is_as_even(problem, present, nodes, before, relief):
            return present
    assert asked.is_whole(asked.counted(nodes))
    return on_nodes(problem, asked, like_before(asked, asked.counted(nodes)))


def _is_as_even(problem: Problem, present: Ints, found: Ints, least: Ints, relief: float) -> bool:
    """Return whether what runs has hardly a busier link than what was found, nor more traffic."""
    now, then, base = (links(problem, nodes) for nodes in (present, found, least))
    allowed = base[0].sum() * (1 + relief)
    return bool(now[0].sum() <= allowed * ALIKE and now.max() <= then.max() * ALIKE)


def relieved(
    problem: Problem,
    asked: Instance,
    nodes: Ints,
    relief: float,
    effort: float,
    rng: np.random.Generator,
) -> Ints:
    """Return nodes of executors of which the busiest link is less busy, or the same ones.

    Parameters
    ----------
    asked : Instance
        Its limits are kept.
    nodes : array of shape (executors,)
        A placement within them.
    relief : float
        Share by which traffic between nodes may rise.
    """
    if not 1 < problem.executor_count <= MOST_EXECUTORS:
        return nodes
    source, target, rate = problem.traffic.unfolded()
    free = np.zeros(len(rate))
    exchanged = pairs(problem.executor_count, source, target, rate, free, free)
    # Links alone count, and all are alike.
    count = len(problem.nodes)
    links_only = Capacities(
        np.tile((np.inf, 1.0, 1.0), (count, 1)),
        np.full((1, 2), np.inf),
        np.zeros(count, dtype=np.int64),
    )
    cpu = np.zeros(problem.executor_count)
    given = resources(problem, asked, exchanged, cpu, links_only, 0.0)
    return least_busy(given, len(problem.topologies), nodes, relief, effort, rng)


def links(problem: Problem, nodes: Ints) -> Floats:
    """Return what each node sends to others and receives from them, shape (2, nodes)."""
    source, target, rate = problem.traffic.unfolded()
    crossing = np.where(nodes[source] != nodes[target], rate, 0.0)
    ends = (nodes[source], nodes[target])
    return np.stack([np.bincount(e, crossing, minlength=len(problem.nodes)) for e in ends])
