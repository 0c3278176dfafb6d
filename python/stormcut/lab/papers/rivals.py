"""The schedulers that stand beside those of a paper in its figures."""

from __future__ import annotations

from stormcut.lab.papers.figures import Case, Parameters
from stormcut.placement.registry import ALGORITHMS

#: All but `exact`, which minimises the cut alone and may take a minute.
SIMULATED = tuple(name for name, algorithm in ALGORITHMS.items() if not algorithm.exact)
#: `cut` stops at room for twice the rates; where sources send as fast as they can, more counts.
HEADROOM_CUT = "cut:objective=headroom"


def rivals(workload: str, measure: str, parameters: Parameters) -> tuple[Case, ...]:
    """Return a case of every simulated scheduler with its default options, named as it is."""
    named = {name: name for name in SIMULATED}
    if measure == "closed":
        named["cut, most room"] = HEADROOM_CUT
    return tuple(
        Case(label, workload, scheduler, measure, parameters) for label, scheduler in named.items()
    )
