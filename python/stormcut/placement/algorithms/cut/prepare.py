"""What is to be placed, under which limits, and in which unit traffic counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from scipy.sparse import csr_array

from stormcut.arrays import Ints
from stormcut.model.problem import Problem
from stormcut.model.traffic import Traffic
from stormcut.placement.algorithms.cut.breadth import Breadth, broaden
from stormcut.placement.algorithms.cut.instance import Instance, instance
from stormcut.placement.algorithms.cut.model import Prices
from stormcut.placement.algorithms.cut.options import Options
from stormcut.placement.graph.partition import traffic_graph
from stormcut.placement.graph.weighing import is_measured, weighed

#: Of problems of more groups times nodes, a construction is one to begin with, and one start has to
#: do: it costs a few tenths of a second, a search grows to seconds.
MAX_COUNTS = 30_000

#: Of more groups, and of more executors times nodes than these, nothing is searched: a search took
#: 5 s at 115,000 of them, 15 s at 460,000, and there found no less traffic than was constructed.
MAX_SEARCHED = 200_000


#: Executors times nodes up to which a search is worth all of its time, and the effort below which
#: it is not worth to begin from several balances.
SEARCHED, MIN_SEARCHED = 1000, 0.01


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be placed.

    Parameters
    ----------
    problem : Problem
        As it was given.
    weights : Traffic
        What counts between executors: tuples or bytes.
    instance : Instance
        Under the options.
    options : Options
    by_size : bool
        Whether that unit is bytes.
    """

    problem: Problem
    weights: Traffic
    instance: Instance
    options: Options
    by_size: bool

    @property
    def saves_traffic(self) -> bool:
        """Whether least traffic is sought, whatever room is left.

        A price for restarts is in traffic saved, and so is what is sought then.
        """
        priced = self.options.objective == "auto" and self.options.restart_price > 0
        return priced or self.options.objective == "cut"

    @property
    def effort(self) -> float:
        """How long to search: as asked, and of what is annealed as much as it is worth.

        Annealing finds nearly as much from less search where executors times nodes are many
        (docs/decisions/0052-one-order.md).
        """
        size = self.problem.executor_count * len(self.problem.nodes)
        worth = 1.0 if self.saves_traffic else min(1.0, SEARCHED / max(size, 1))
        return self.options.effort * worth

    @property
    def flows(self) -> bool:
        """Whether traffic depends on who shares a worker: of local-or-shuffle streams."""
        return any(block.local_first for block in self.problem.traffic.blocks)

    @property
    def keeps_workers(self) -> bool:
        """Whether topologies have as many workers as they ask for, where that is more."""
        return self.options.workers == "keep"

    @cached_property
    def breadth(self) -> Breadth:
        """On how many nodes topologies are at least."""
        if self.keeps_workers:
            return Breadth.asked(self.problem, self.instance)
        return Breadth.free(self.problem)

    @cached_property
    def graph(self) -> csr_array:
        """What counts between executors, as a symmetric matrix."""
        return traffic_graph(self.weights, self.problem.executor_count)

    def broad(self, nodes: Ints) -> Ints:
        """Return executors' nodes with topologies on as many as asked, if limits allow."""
        if not self.keeps_workers:
            return nodes
        return broaden(self.problem, self.instance, self.graph, self.breadth, nodes)

    @property
    def prices(self) -> Prices:
        """What the search minimises."""
        _, node, rack = self.options.distances
        return node, rack - node, self.options.restart_price

    @property
    def is_large(self) -> bool:
        """Whether its counts are so many that a placement is constructed first."""
        groups, nodes = self.instance.shape
        return groups * nodes > MAX_COUNTS

    @property
    def can_be_searched(self) -> bool:
        """Whether a search is short enough, where what runs stays not even for seconds."""
        if not self.is_large:
            return True
        _, nodes = self.instance.shape
        return not self.stays and self.problem.executor_count * nodes <= MAX_SEARCHED

    @property
    def is_searched(self) -> bool:
        """Whether a search is worth its time where there is a placement to begin with.

        Of large problems, annealing what was constructed finds as little congestion in a third
        of the time or less.
        """
        return self.can_be_searched and (self.saves_traffic or not self.is_large)

    @property
    def is_hasty(self) -> bool:
        """Whether one start has to do."""
        return self.is_large or self.effort < MIN_SEARCHED

    @property
    def stays(self) -> bool:
        """Whether what runs now stays unless a change pays for the restarts."""
        return self.options.restart_price > 0 and self.problem.current is not None


def prepare(problem: Problem, options: Options) -> Task:
    """Return what is to be placed.

    Raises
    ------
    InvalidInput
        An option names what the problem does not have.
    """
    by_size = options.traffic == "bytes" or (options.traffic == "auto" and is_measured(problem))
    # What links carry counts then: declared sizes do, too.
    declared = options.objective in ("headroom", "congestion") and options.traffic == "auto"
    weights = weighed(problem)[0] if by_size or declared else problem.traffic
    built = instance(problem, options, weights)
    assert built.groups.size.sum() == problem.executor_count
    return Task(problem, weights, built, options, by_size)


def running(instance: Instance) -> Ints | None:
    """Return the counts of what runs now if that is whole and within all limits."""
    return (
        instance.start if instance.start is not None and instance.is_whole(instance.start) else None
    )
