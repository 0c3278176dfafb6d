"""How many bytes a second each operator of a query emits, from rates and schema (phase 1).

RECONSTRUCTED: of the paper's Eq. 4 and algorithm only the name of the measure, outBfsize, and the
order of steps survive. Read here as the rate of output tuples times their mean size.

References
----------
M. Mortazavi-Dehkordi and K. Zamanifar, "Efficient resource scheduling for the analysis of Big Data
streams", Intelligent Data Analysis 23(1), 2019, section 4, Eq. 4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from stormcut.placement.graph.component_graph import linear_order


@dataclass(frozen=True)
class Operator:
    """An operator of a query as its schema describes it.

    Parameters
    ----------
    name : str
    inputs : tuple of str
        Operators that feed it.
    output_bytes : float or None
        Mean size of an output tuple; None without schema.
    selectivity : float or None
        Output tuples per input tuple (1 for a map, projection or end; the predicate's share for a
        filter; the mean fan-out for a split); None if unknown. Of a join: share of pairs.
    emits : float or None
        Output tuples/s whatever comes in: of a source, or `group_by_rate`.
    windows : (float, float) or None
        Of a join of two streams: their windows in seconds.
    """

    name: str
    inputs: tuple[str, ...] = ()
    output_bytes: float | None = None
    selectivity: float | None = None
    emits: float | None = None
    windows: tuple[float, float] | None = None


@dataclass(frozen=True)
class Flow:
    """Tuples/s into and out of an operator and bytes/s out (outBfsize); None if unknown."""

    rate_in: float | None
    rate_out: float | None
    volume: float | None


def group_by_rate(groups: float, slide: float) -> float:
    """Return the tuples/s of a window that reports so many groups every ``slide`` seconds."""
    return groups / slide


def join_rate(
    selectivity: float, rates: tuple[float, float], windows: tuple[float, float]
) -> float:
    """Return the tuples/s of a join of two streams over windows in seconds.

    Examples
    --------
    >>> join_rate(0.01, (100.0, 50.0), (2.0, 2.0))
    200.0
    """
    one, other = rates
    return selectivity * (one * other * windows[1] + other * one * windows[0])


def profile(operators: Sequence[Operator]) -> dict[str, Flow]:
    """Return what flows through each operator of one layer.

    An operator with an unknown input is unknown unless it emits at a rate of its own. On a cycle
    the edges that lead back count nothing at first, then what the first round found.
    """
    at = {operator.name: k for k, operator in enumerate(operators)}
    pairs = dict.fromkeys((at[name], at[each.name]) for each in operators for name in each.inputs)
    order = linear_order(len(operators), pairs, range(len(operators)))
    position = {vertex: place for place, vertex in enumerate(order)}
    cyclic = any(position[source] >= position[target] for source, target in pairs)
    flows: dict[str, Flow] = {}
    for _ in range(2 if cyclic else 1):
        for vertex in order:
            flows[operators[vertex].name] = _flow(operators[vertex], flows)
    return flows


def _flow(operator: Operator, flows: Mapping[str, Flow]) -> Flow:
    arriving = [flows[name].rate_out for name in operator.inputs if name in flows]
    known = [rate for rate in arriving if rate is not None]
    rate_in = sum(known) if len(known) == len(arriving) else None
    rate_out = operator.emits if operator.emits is not None else _emitted(operator, rate_in, known)
    size = operator.output_bytes
    volume = None if rate_out is None or size is None else rate_out * size
    return Flow(rate_in, rate_out, volume)


def _emitted(operator: Operator, rate_in: float | None, arriving: list[float]) -> float | None:
    if operator.selectivity is None or rate_in is None:
        return None
    if operator.windows is None:
        return operator.selectivity * rate_in
    if len(arriving) != 2:
        return None
    return join_rate(operator.selectivity, (arriving[0], arriving[1]), operator.windows)
