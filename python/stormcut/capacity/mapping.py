"""Maps an allocation to slots: on given machines, or on as many as the mapping needs.

DSM, RSM and SAM are the paper's. `cut` takes slots for nodes and machines for racks: it minimises
the tuples/s between slots, and those between machines count more. Full bundles and residuals stay
together, as in SAM.

References
----------
A. Shukla and Y. Simmhan, "Model-driven scheduling for distributed stream processing systems",
J. Parallel Distrib. Comput. 117 (2018), sections 7 and 8.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Stream, Topology
from stormcut.placement.algorithms.model_driven import dsm, rsm, sam
from stormcut.placement.algorithms.model_driven.allocation import (
    Allocation,
    Dag,
    Share,
    TaskAllocation,
    acquire,
)
from stormcut.placement.solve import DEFAULT_ALGORITHM, DEFAULT_SEED, solve

Ints = npt.NDArray[np.int64]

#: From threads on slots, shape (tasks, slots), of an allocation on machines of so many slots each.
Mapper = Callable[[Allocation, Sequence[int]], Ints]

#: Slots that are tried beyond those planned, as a share of them and at least. The paper's dataflows
#: take up to 4 more; what does not fit on twice as many is not short of slots.
MOST_EXTRA, LEAST_EXTRA = 1.0, 8


@dataclass(frozen=True, eq=False)
class Mapped:
    """Threads on slots.

    Parameters
    ----------
    machines : tuple of int
        Slots of each machine.
    threads : array of shape (tasks, slots)
        In the order of the allocation's tasks, slots machine by machine.
    """

    machines: tuple[int, ...]
    threads: Ints

    @property
    def slots_used(self) -> int:
        """Slots that hold a thread."""
        return int(self.threads.any(axis=0).sum())


def mapper(name: str, dag: Dag, rate: float, seed: int = DEFAULT_SEED) -> Mapper:
    """Return a mapping by its name; the dataflow and its input rate are for `cut`.

    Raises
    ------
    InvalidInput
        There is none of that name.
    """
    if name == DEFAULT_ALGORITHM:
        return lambda allocation, machines: _cut(dag, rate, seed, allocation, machines)
    known: dict[str, Mapper] = {
        "dsm": dsm.map_allocation,
        "rsm": rsm.map_allocation,
        "sam": sam.map_allocation,
    }
    if name not in known:
        raise InvalidInput(f"no mapping {name!r}; there are {', '.join(MAPPINGS)}")
    return known[name]


MAPPINGS = ("dsm", "rsm", "sam", DEFAULT_ALGORITHM)


def map_to(map_: Mapper, allocation: Allocation, machines: Sequence[int]) -> Mapped:
    """Return an allocation on machines of so many slots each.

    Raises
    ------
    Infeasible
        A task finds no room.
    """
    return Mapped(tuple(machines), map_(allocation, machines))


def map_acquired(
    map_: Mapper, allocation: Allocation, sizes: tuple[int, ...], exact: bool = False
) -> Mapped:
    """Return an allocation on as few machines as the mapping needs.

    The planned slots are tried, then one more each time, machines acquired anew (section 8.4).

    Parameters
    ----------
    sizes : tuple of int
        Slots of the machines on offer.
    exact : bool
        See `acquire`.

    Raises
    ------
    Infeasible
        No number of slots up to twice the planned is enough.
    """
    planned = max(1, allocation.slots)
    most = planned + max(LEAST_EXTRA, int(MOST_EXTRA * planned))
    for slots in range(planned, most + 1):
        try:
            return map_to(map_, allocation, acquire(slots, sizes, exact))
        except Infeasible as refusal:
            last = refusal
    raise last


def _cut(dag: Dag, rate: float, seed: int, allocation: Allocation, machines: Sequence[int]) -> Ints:
    units = [_units(each) for each in allocation.tasks]
    problem = _problem(dag, rate, allocation, units, machines)
    placement = solve(problem, DEFAULT_ALGORITHM, seed).placement
    slots = problem.slot_node[placement.slots]
    task = np.repeat(np.arange(len(units)), [len(each) for each in units])
    threads = np.zeros((len(units), len(problem.nodes)), dtype=np.int64)
    np.add.at(threads, (task, slots), [share.threads for each in units for share in each])
    return threads


def _units(task: TaskAllocation) -> list[Share]:
    """Return what stays together: full bundles and the residual, or single threads without any."""
    if task.full_bundle is None:
        count = task.total.threads
        return [Share(1, task.total.cpu_percent / count, task.total.memory_percent / count)] * count
    bundles = [Share(task.full_bundle, 100.0, 100.0)] * task.bundles
    return [*bundles, task.residual] if task.residual.threads else bundles


def _problem(
    dag: Dag,
    rate: float,
    allocation: Allocation,
    units: Sequence[Sequence[Share]],
    machines: Sequence[int],
) -> Problem:
    """Return a problem whose nodes are slots of a core and their memory, and racks the machines."""
    of = {task.task: its for task, its in zip(allocation.tasks, units, strict=True)}
    fed = {edge.target for edge in dag.edges}
    components = tuple(
        Component(
            name,
            "bolt" if name in fed else "spout",
            len(its),
            np.array([each.cpu_percent for each in its]),
            np.array([each.memory_percent for each in its]),
            # A residual's threads may take more than a core at their highest rate.
            threads=float(max(each.threads for each in its)),
        )
        for name, its in of.items()
    )
    rates, streams, pairs = dag.input_rates(rate), [], []
    for number, edge in enumerate(dag.edges):
        sent = rates[edge.source] * edge.selectivity
        sources, targets = of[edge.source], of[edge.target]
        if len(set(sources)) == len(set(targets)) == 1:
            # Kept folded: a search takes far less time.
            streams.append(Stream(edge.source, edge.target, sent, "shuffle", f"s{number}"))
        else:
            pairs += [
                MeasuredPair((edge.source, i), (edge.target, j), sent * here * there)
                for i, here in enumerate(_parts(sources))
                for j, there in enumerate(_parts(targets))
            ]
    nodes = tuple(
        Node(f"{machine}-{slot}", (0,), f"{machine}", 100.0, 100.0)
        for machine, slots in enumerate(machines)
        for slot in range(slots)
    )
    return Problem(nodes, (Topology("dataflow", components, tuple(streams), tuple(pairs)),))


def _parts(units: Sequence[Share]) -> list[float]:
    """Return the part of a task's tuples that each of its units gets: every thread the same."""
    total = sum(each.threads for each in units)
    return [each.threads / total for each in units]
