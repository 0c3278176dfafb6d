"""A cell of the grid: one placement of one workload, and what is measured of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Value = float | str
#: What a cell yields: figures by metric, or nothing but why there are none.
Outcome = Mapping[str, float] | str


@dataclass(frozen=True)
class PaperCell:
    """What one process measures without asking anybody.

    Parameters
    ----------
    workload : str
        One of `stormcut.lab.papers.workloads.WORKLOADS`.
    scheduler : str
        An algorithm, as ``NAME:KEY=VALUE+KEY=VALUE``; several, parted by `` > ``, place one after
        the other, each from where its predecessor has left everything.
    measure : str
        One of `stormcut.lab.papers.measures.MEASURES`.
    seed : int
    parameters : tuple of (name, value)
        Of the workload and of the measure, in order of their names.
    """

    workload: str
    scheduler: str
    measure: str
    seed: int = 1
    parameters: tuple[tuple[str, Value], ...] = field(default=())

    @property
    def key(self) -> str:
        """A text that tells this cell from all others, the same in every process."""
        named = dict(self.parameters)
        return json.dumps([self.workload, self.scheduler, self.measure, self.seed, named])


def parameters_of(values: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    """Return parameters in the order in which a cell holds them."""
    return tuple(sorted(values.items()))


def distinct(cells: Iterable[PaperCell]) -> list[PaperCell]:
    """Return each cell once, in the order of first use."""
    return list(dict.fromkeys(cells))
