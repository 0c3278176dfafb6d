"""The layouts of the micro-benchmarks: components, their tasks, and who sends to whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Layout:
    """A directed graph of components without cycles.

    Attributes
    ----------
    tasks : mapping
        Tasks of each component, in the order in which components are declared.
    edges : tuple of pairs
        Sender and receiver. A component that nobody sends to is a spout.
    """

    tasks: Mapping[str, int]
    edges: tuple[tuple[str, str], ...]

    def senders(self, component: str) -> list[str]:
        """Return who sends to a component."""
        return [sender for sender, receiver in self.edges if receiver == component]

    def is_sink(self, component: str) -> bool:
        """Return whether a component sends to nobody."""
        return all(sender != component for sender, _ in self.edges)


def linear(bolts: int, tasks: int) -> Layout:
    """Return a chain: a source and so many bolts, all with the same number of tasks."""
    names = ["source", *(f"bolt_{number}" for number in range(1, bolts + 1))]
    return Layout(dict.fromkeys(names, tasks), tuple(pairwise(names)))


def diamond(middles: int, tasks: int, ends: int) -> Layout:
    """Return a source that sends to all middles, which all send to a sink.

    Parameters
    ----------
    middles : int
        Bolts between source and sink.
    tasks : int
        Tasks of each of them.
    ends : int
        Tasks of the source and of the sink.
    """
    names = [f"middle_{number}" for number in range(1, middles + 1)]
    edges = [("source", name) for name in names] + [(name, "sink") for name in names]
    return Layout({"source": ends, **dict.fromkeys(names, tasks), "sink": ends}, tuple(edges))


def star(sources: int, sinks: int, source_tasks: int, hub: int, sink_tasks: int) -> Layout:
    """Return sources that all send to one hub, which sends to all sinks.

    Parameters
    ----------
    sources, sinks : int
        Components around the hub.
    source_tasks, hub, sink_tasks : int
        Tasks of each source, of the hub and of each sink.
    """
    before = [f"source_{number}" for number in range(1, sources + 1)]
    after = [f"sink_{number}" for number in range(1, sinks + 1)]
    tasks = dict.fromkeys(before, source_tasks) | {"hub": hub} | dict.fromkeys(after, sink_tasks)
    edges = [(name, "hub") for name in before] + [("hub", name) for name in after]
    return Layout(tasks, tuple(edges))
