"""What can be set of `cut`, and which executors and nodes its texts name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from stormcut.model.errors import InvalidInput
from stormcut.model.problem import Problem
from stormcut.placement.options import (
    NOT_NEGATIVE,
    ONE_OR_MORE,
    POSITIVE_FRACTION,
    Bounded,
    FiniteRange,
)


@dataclass(frozen=True)
class Options(Bounded):
    """What can be set; every limit of the problem is hard whatever is set here."""

    objective: Literal["auto", "cut", "headroom", "congestion"] = field(
        default="auto",
        metadata={
            "help": "auto: rates carried, room to double them, then least traffic between nodes "
            "(with a price for restarts: least traffic); cut: least traffic alone; headroom: most "
            "room, then least traffic; congestion: all nodes and links as little full as possible"
        },
    )
    traffic: Literal["auto", "tuples", "bytes"] = field(
        default="auto",
        metadata={
            "help": "what counts as traffic where objective is cut, and where a search begins; "
            "auto: bytes if sizes are measured, else tuples"
        },
    )
    cpu_share: float = field(
        default=1.0,
        metadata={
            "help": "share of a node's CPU that may be used (thesis: 0.8)",
            "bounds": POSITIVE_FRACTION,
        },
    )
    reserve: float = field(
        default=0.0,
        metadata={
            "help": "share of every limit of every node to leave free",
            "bounds": FiniteRange(0, 1, open_above=True),
        },
    )
    exclude: tuple[str, ...] = field(default=(), metadata={"help": "nodes to leave empty"})
    pin: tuple[str, ...] = field(
        default=(), metadata={"help": "TOPOLOGY/COMPONENT[I]@NODE or TOPOLOGY/COMPONENT@NODE"}
    )
    apart: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "TOPOLOGY/COMPONENT to spread: as few of its executors on one node as possible"
        },
    )
    restart_price: float = field(
        default=0.0,
        metadata={
            "help": "tuples/s that a change must save for each worker that it restarts",
            "bounds": NOT_NEGATIVE,
        },
    )
    distances: tuple[float, ...] = field(
        default=(0.1, 1.0, 1.01),
        metadata={"help": "cost of a tuple to another worker, node of the rack, rack"},
    )
    balance: float | None = field(
        default=None,
        metadata={
            "help": "most CPU on a node, in its fair shares, 1 or more; none: any",
            "bounds": ONE_OR_MORE,
        },
    )
    workers: Literal["any", "keep"] = field(
        default="any",
        metadata={
            "help": "any: one worker on each node; keep: as many as topology.workers asks for, on "
            "as many nodes"
        },
    )
    effort: float = field(
        default=1.0,
        metadata={
            "help": "search this many times as long as by default; 0: hardly",
            "bounds": FiniteRange(0, 1000),
        },
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        ordered = (0.0, *self.distances, float("inf"))
        if len(self.distances) != 3 or self.distances[1] <= 0 or list(ordered) != sorted(ordered):
            raise InvalidInput(
                "must be three numbers that do not fall, the second above 0 (another worker, "
                f"node of the rack, rack), not {','.join(f'{d:g}' for d in self.distances)}",
                "option distances",
            )


def excluded_nodes(problem: Problem, options: Options) -> list[int]:
    """Return the ordinals of the nodes to leave empty.

    Raises
    ------
    InvalidInput
        There is no such node.
    """
    return [_node(problem, name, "exclude") for name in options.exclude]


def pinned(problem: Problem, options: Options) -> Iterator[tuple[range, int]]:
    """Yield (executor ordinals, node ordinal) of every pin.

    Raises
    ------
    InvalidInput
        A pin is no TOPOLOGY/COMPONENT[I]@NODE, or names what the problem does not have.
    """
    for text in options.pin:
        what, separator, node = text.rpartition("@")
        if not separator:
            raise InvalidInput(f"needs TOPOLOGY/COMPONENT[I]@NODE, not {text!r}", "option pin")
        yield _executors(problem, what, "pin"), _node(problem, node, "pin")


def kept_apart(problem: Problem, options: Options) -> Iterator[range]:
    """Yield the executor ordinals of every component to spread.

    Raises
    ------
    InvalidInput
        The problem does not have it.
    """
    for text in options.apart:
        yield _executors(problem, text, "apart")


def _node(problem: Problem, name: str, option: str) -> int:
    for ordinal, node in enumerate(problem.nodes):
        if node.id == name:
            return ordinal
    raise InvalidInput(f"there is no node {name!r}", f"option {option}")


def _executors(problem: Problem, text: str, option: str) -> range:
    """Return the executors that TOPOLOGY/COMPONENT or TOPOLOGY/COMPONENT[I] names."""
    for topology, offset in zip(problem.topologies, problem.topology_offsets, strict=False):
        for component in topology.components:
            first = int(offset) + topology.offsets[component.name]
            whole = f"{topology.id}/{component.name}"
            if text == whole:
                return range(first, first + component.executors)
            index = re.fullmatch(re.escape(whole) + r"\[(\d+)\]", text)
            if index and int(index[1]) < component.executors:
                return range(first + int(index[1]), first + int(index[1]) + 1)
    raise InvalidInput(f"there is no executor or component {text!r}", f"option {option}")
