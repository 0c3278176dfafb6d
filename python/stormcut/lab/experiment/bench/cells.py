"""What a bench measures: cells, the placements behind them, and the run they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Cell:
    """One scheduler's placement of one topology, measured once; repetitions count from 1."""

    topology: str
    repetition: int
    scheduler: str


@dataclass(frozen=True)
class Measurement:
    """What one window of one cell showed.

    Attributes
    ----------
    begin, end : float
        Of the window, in epoch seconds.
    tuples_per_10s : float
        Tuple trees acknowledged at the sources in 10 s.
    mean_ms, p50_ms, p95_ms, p99_ms : float or None
        From source to last acknowledgement, by the sources' clocks; ``mean_ms`` is TPT.
        None where nothing was acknowledged.
    sent_mbit_s : float
        What all nodes sent, in Mbit/s (the papers' inter-node bandwidth, INB).
    node_cores : tuple of float
        Cores used by each node.
    other_cores : float
        Cores used by everything else on the machine.
    replayed : int
        Tuples that failed or timed out.
    unsteady : str
        Why the rate says little, in a few words: it did not settle, or others used the CPU.
        Empty: it holds. Any other window enters no figure.
    node_sent_mbit_s, node_received_mbit_s : tuple of float
        What each node sent and received. Empty in older journals.
    node_throttled : tuple of float
        Share of each node's CPU periods in which its quota was used up. Empty in older journals.
    """

    cell: Cell
    begin: float
    end: float
    tuples_per_10s: float
    mean_ms: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    sent_mbit_s: float
    node_cores: tuple[float, ...]
    other_cores: float
    replayed: int
    unsteady: str = ""
    node_sent_mbit_s: tuple[float, ...] = ()
    node_received_mbit_s: tuple[float, ...] = ()
    node_throttled: tuple[float, ...] = ()


@dataclass(frozen=True)
class Placed:
    """What one scheduler made of one topology, before anything was measured under it.

    ``refusal`` says why there is no placement; then the cells do not exist. ``nodes`` is the node
    of each executor in the order of first tasks (system executors last); ``predicted_between`` the
    tuples/s that cross nodes by the profile, ``predicted_total`` all of them; ``reachable``
    the tuples/s that the cost model has sources send in closed loop, None where that is not known.
    By the hook in the last window, None before that was looked at: ``kept`` is the share of tuples
    that stayed on their node, ``carried`` that of the tuples sent to bolts that they executed.
    """

    topology: str
    scheduler: str
    refusal: str
    nodes: tuple[str, ...]
    predicted_between: float
    predicted_total: float
    kept: float | None = None
    reachable: float | None = None
    carried: float | None = None


@dataclass(frozen=True)
class Start:
    """How starting one topology under one scheduler's placement went.

    ``failure`` says why it does not run: its cells are tried again when the bench is resumed.
    Empty: it runs.
    """

    topology: str
    scheduler: str
    failure: str


#: Fact of a run: Mbit/s of a node's link, such as ``5`` (each way), ``out=5,in=2``, ``out=5`` or
#: ``not limited``. Runs without it are from when only what a node sends could be limited.
LINK_FACT = "link, Mbit/s"


@dataclass(frozen=True)
class BenchRun:
    """What is the same for all cells of a bench.

    Attributes
    ----------
    setting : str
        Its name, such as ``network-bound``.
    summary : str
        What the setting is, in a sentence.
    schedulers, topologies : tuple of str
        In the order of the tables.
    repetitions : int
        Of each cell.
    options : mapping
        By topology, the options it was submitted with.
    facts : mapping of str to str
        Cluster, limits, windows, machine, command, day: whatever a reader needs to judge by.
    refused : mapping of str to str
        Limits that the engine or the kernel refused, by kind, and why; empty: all are in force.
    """

    setting: str
    summary: str
    schedulers: tuple[str, ...]
    topologies: tuple[str, ...]
    repetitions: int
    options: Mapping[str, Mapping[str, object]]
    facts: Mapping[str, str]
    refused: Mapping[str, str]
