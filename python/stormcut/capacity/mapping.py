"""Maps an allocation to slots: on given machines, or on as many as the mapping needs.

DSM, RSM and SAM are the paper's. `cut` takes slots for nodes and machines for racks: it minimises
the tuples/s between slots, and those between machines count more.

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
from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.placement.algorithms.model_driven import dsm, rsm, sam
from stormcut.placement.algorithms.model_driven.allocation import Allocation, Dag, acquire
from stormcut.placement.solve import DEFAULT_SEED, solve

Ints = npt.NDArray[np.int64]

#: From threads on slots, shape (tasks, slots), of an allocation on machines of so many slots each.
Mapper = Callable[[Allocation, Sequence[int]], Ints]

#: Slots that are tried beyond those planned, as a share of them and at least.
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
    if name == "cut":
        return lambda allocation, machines: _cut(dag, rate, seed, allocation, machines)
    known: dict[str, Mapper] = {
        "dsm": dsm.map_allocation,
        "rsm": rsm.map_allocation,
        "sam": sam.map_allocation,
    }
    if name not in known:
        raise InvalidInput(f"no mapping {name!r}; there are {', '.join(MAPPINGS)}")
    return known[name]


MAPPINGS = ("dsm", "rsm", "sam", "cut")


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
    problem = _problem(dag, rate, allocation, machines)
    placement = solve(problem, "cut", seed).placement
    slots = problem.slot_node[placement.slots]
    task = np.repeat(np.arange(len(allocation.tasks)), [c.total.threads for c in allocation.tasks])
    threads = np.zeros((len(allocation.tasks), len(problem.nodes)), dtype=np.int64)
    np.add.at(threads, (task, slots), 1)
    return threads


def _problem(dag: Dag, rate: float, allocation: Allocation, machines: Sequence[int]) -> Problem:
    """Return a problem whose nodes are slots of a core and their memory, and racks the machines."""
    fed = {edge.target for edge in dag.edges}
    components = tuple(
        Component.uniform(
            each.task,
            each.total.threads,
            "bolt" if each.task in fed else "spout",
            each.total.cpu_percent / each.total.threads,
            each.total.memory_percent / each.total.threads,
        )
        for each in allocation.tasks
    )
    rates = dag.input_rates(rate)
    streams = tuple(
        Stream(edge.source, edge.target, rates[edge.source] * edge.selectivity, "shuffle", f"s{at}")
        for at, edge in enumerate(dag.edges)
    )
    nodes = tuple(
        Node(f"{machine}-{slot}", (0,), f"{machine}", 100.0, 100.0)
        for machine, slots in enumerate(machines)
        for slot in range(slots)
    )
    return Problem(nodes, (Topology("dataflow", components, streams),))
