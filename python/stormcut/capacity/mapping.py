"""Maps an allocation to slots: on given machines, or on as many as the mapping needs.

DSM, RSM and SAM are the paper's, `cut` is ours.

References
----------
A. Shukla and Y. Simmhan, "Model-driven scheduling for distributed stream processing systems",
J. Parallel Distrib. Comput. 117 (2018), sections 7 and 8.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from stormcut.arrays import Ints
from stormcut.capacity import cut
from stormcut.capacity.options import MAPPINGS
from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.placement.algorithms.model_driven import dsm, rsm, sam
from stormcut.placement.algorithms.model_driven.allocation import (
    Allocation,
    Dag,
    PerformanceModel,
    Share,
    TaskAllocation,
    acquire,
)

#: From threads on slots, shape (tasks, slots), of an allocation on machines of so many slots each.
Mapper = Callable[[Allocation, Sequence[int]], Ints]

#: Slots that are tried beyond those planned, as a share of them and at least. The paper's dataflows
#: take up to 4 more; what does not fit on twice as many is not short of slots.
MAX_EXTRA, MIN_EXTRA = 1.0, 8


#: What the paper sets aside for source and sink (section 8.4).
ENDS = {"source": Share(1, 10.0, 15.0), "sink": Share(1, 10.0, 20.0)}
#: Of planned rates, tuples/s (section 8.5).
PAPERS_STEP = 10.0


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

    @property
    def slots_acquired(self) -> int:
        """Slots of all machines."""
        return sum(self.machines)


def mapper(name: str, models: Mapping[str, PerformanceModel], dag: Dag, rate: float) -> Mapper:
    """Return a mapping by its name; models, dataflow and input rate are for `cut`.

    Raises
    ------
    InvalidInput
        There is none of that name.
    """
    known: dict[str, Mapper] = {
        "cut": partial(cut.map_allocation, models, dag, rate),
        "dsm": dsm.map_allocation,
        "rsm": rsm.map_allocation,
        "sam": sam.map_allocation,
    }
    if name not in known:
        raise InvalidInput(f"no mapping {name!r}; there are {', '.join(MAPPINGS)}")
    return known[name]


def with_ends(map_: Mapper) -> Mapper:
    """Return a mapping that places source and sink, too, as the paper's R-Storm does.

    They are not part of an allocation, nor of what the mapping returns; slots that only they use
    are acquired all the same.
    """

    def mapped(allocation: Allocation, machines: Sequence[int]) -> Ints:
        source, sink = (TaskAllocation(name, share) for name, share in ENDS.items())
        return map_(Allocation((source, *allocation.tasks, sink)), machines)[1:-1]

    return mapped


def highest_rate(
    allocate: Callable[[float], Allocation],
    map_at: Callable[[float], Mapper],
    machines: Sequence[int],
    step: float = PAPERS_STEP,
) -> tuple[float, Mapped]:
    """Return the last of the rates ``step``, 2 ``step``, ... that machines hold, and its mapping.

    Parameters
    ----------
    allocate, map_at : callable
        The allocation for a rate, and the mapping.

    Raises
    ------
    Infeasible
        They hold none.
    """
    rate = step
    while allocate(rate + step).slots <= sum(machines):
        rate += step
    while rate > 0:
        with suppress(Infeasible):
            return rate, map_to(map_at(rate), allocate(rate), machines)
        rate -= step
    raise Infeasible(f"no rate from {step:g} tuples/s finds room", "machines")


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

    The planned slots are tried, then one more each time, machines acquired again (section 8.4).

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
    most = planned + max(MIN_EXTRA, int(MAX_EXTRA * planned))
    for slots in range(planned, most + 1):
        try:
            return map_to(map_, allocation, acquire(slots, sizes, exact))
        except Infeasible as refusal:
            last = refusal
    raise last
