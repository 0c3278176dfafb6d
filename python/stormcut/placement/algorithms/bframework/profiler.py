"""What operators emit by what their author declares: kinds, schemas, selectivities, rates.

RECONSTRUCTED: the paper's equation 4 and its table of selectivities are lost. Rates follow the
operators' kinds in topological order. An operator is unknown if what it emits depends on something
that nobody declares.

- B-15: a component that declares no operator is user-defined, and unknown.
- B-16: on a cycle, edges that lead back count as unknown in a first pass and as found in a second.
- B-17: an ``end`` writes as many tuples as it takes, and nothing if it declares no schema.

References
----------
M. Mortazavi-Dehkordi and K. Zamanifar, "Efficient resource scheduling for the analysis of Big Data
streams", Intelligent Data Analysis 23(1), 2019, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from stormcut.model.operator import Operator
from stormcut.model.predicate import estimate_selectivity
from stormcut.model.problem import Topology

#: Tuples/s of a source that declares no rate: partitions depend on no unit.
UNIT_RATE = 1.0

NOT_DECLARED = Operator("user_defined")


def estimate_volumes(topology: Topology, order: Sequence[int]) -> tuple[float | None, ...]:
    """Return what each component emits, in bytes/s, None if it is unknown.

    Parameters
    ----------
    order : sequence of int
        Components in topological order.

    Notes
    -----
    Takes O(components + streams).
    """
    number = {component.name: index for index, component in enumerate(topology.components)}
    operators = [component.operator or NOT_DECLARED for component in topology.components]
    inputs: list[list[int]] = [[] for _ in operators]
    for stream in topology.streams:
        source, target = number[stream.source], number[stream.target]
        if source not in inputs[target]:
            inputs[target].append(source)
    rates: list[float | None] = [None] * len(operators)
    for _ in range(2):
        for index in order:
            rates[index] = output_rate(operators[index], [rates[each] for each in inputs[index]])
    return tuple(map(_volume, operators, rates))


def _volume(operator: Operator, rate: float | None) -> float | None:
    size = operator.bytes_per_tuple
    if operator.kind == "end" and size is None:
        return 0.0
    if rate is None or size is None or not math.isfinite(rate * size):
        return None
    return rate * size


def output_rate(operator: Operator, inputs: Sequence[float | None]) -> float | None:
    """Return the tuples/s that an operator emits for those that it takes, None if unknown.

    Examples
    --------
    >>> output_rate(Operator("filter", selectivity=0.5), [6000.0, 4000.0])
    5000.0
    >>> output_rate(Operator("join", selectivity=0.01, windows_s=(2.0, 2.0)), [100.0, 50.0])
    200.0
    >>> output_rate(Operator("group_by", groups=1000.0, slide_s=1.0), [None])
    1000.0
    """
    known = [rate for rate in inputs if rate is not None]
    taken = sum(known) if len(known) == len(inputs) else None
    match operator.kind:
        case "source":
            return UNIT_RATE if operator.rate is None else operator.rate
        case "group_by":
            if operator.groups is None or operator.slide_s is None:
                return None
            return operator.groups / operator.slide_s
        case "join":
            return _join_rate(operator, known) if len(known) == len(inputs) == 2 else None
        case "map" | "project" | "end":
            each: float | None = 1.0
        case _:
            each = _selectivity(operator)
    return None if taken is None or each is None else taken * each


def _join_rate(operator: Operator, rates: Sequence[float]) -> float | None:
    """Return what a window join emits: each tuple meets those that the other input has kept."""
    each = _selectivity(operator)
    if each is None or operator.windows_s is None:
        return None
    (one, other), (first, second) = rates, operator.windows_s
    return each * (one * other * second + other * one * first)


def _selectivity(operator: Operator) -> float | None:
    if operator.selectivity is not None or operator.predicate is None:
        return operator.selectivity
    return estimate_selectivity(operator.predicate)
