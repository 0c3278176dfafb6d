"""What happens while a placement runs: loads, slow nodes and links, lost nodes, kills, moves."""

from __future__ import annotations

from dataclasses import dataclass

from stormcut.model.placement import Placement


@dataclass(frozen=True)
class LoadChange:
    """From then on sources send their rates times ``factor``: of one topology, or of all."""

    second: float
    factor: float
    topology: str | None = None


@dataclass(frozen=True)
class SpeedChange:
    """From then on a node has its CPU, or its link, times a factor; None: as before."""

    second: float
    node: str
    cpu: float | None = None
    link: float | None = None


@dataclass(frozen=True)
class NodeLost:
    """All workers of a node end, and start again only when it is back."""

    second: float
    node: str


@dataclass(frozen=True)
class NodeBack:
    """A node that was lost runs its workers again."""

    second: float
    node: str


@dataclass(frozen=True)
class WorkersKilled:
    """All workers of a node end, and its supervisor starts them again."""

    second: float
    node: str


@dataclass(frozen=True)
class SimulatedMove:
    """Executors move: workers whose executors change end, and start again."""

    second: float
    placement: Placement


Change = LoadChange | SpeedChange | NodeLost | NodeBack | WorkersKilled | SimulatedMove


def describe(change: Change) -> str:
    """Say what a change is, in a few words."""
    match change:
        case LoadChange(_, factor, topology):
            return f"load x {factor:g}" + (f" of {topology}" if topology else "")
        case SpeedChange(_, node, cpu, link):
            named = (("CPU", cpu), ("link", link))
            parts = (f"{what} x {factor:g}" for what, factor in named if factor is not None)
            return f"{node}: {', '.join(parts)}"
        case NodeLost(_, node):
            return f"{node} lost"
        case NodeBack(_, node):
            return f"{node} back"
        case WorkersKilled(_, node):
            return f"workers of {node} killed"
        case SimulatedMove():
            return "executors move"
