"""How many tuples a predicate lets through, by System R's table of guesses.

References
----------
P. Selinger et al., "Access path selection in a relational database management system", SIGMOD 1979,
table 1.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

#: Where nothing is known of a column: of ``=``, of ``<`` and ``>``, of a range.
EQUAL, UNEQUAL, RANGE = 0.1, 1 / 3, 1 / 4
#: A list of values selects half at most.
MAX_OF_LIST = 0.5


def estimate_selectivity(predicate: Mapping[str, Any]) -> float:
    """Return which part of the tuples a predicate lets through, by System R's table.

    Parameters
    ----------
    predicate : dict
        One of ``{"equals": values}`` (a column with that many values against a constant, null:
        unknown), ``{"same": [values, values]}`` (two columns), ``{"above": [constant, min, max]}``,
        ``{"below": ...}`` likewise, ``{"between": [low, high, min, max]}``, ``{"in": [count,
        values]}``, ``{"and": [predicate, ...]}``, ``{"or": ...}`` likewise, ``{"not": predicate}``.
        Null in place of a list of numbers: unknown.

    Raises
    ------
    ValueError
        It is none of these.

    Examples
    --------
    >>> estimate_selectivity({"same": [50, 200]})
    0.005
    >>> estimate_selectivity({"above": [80, 0, 100]})
    0.2
    """
    try:
        ((name, given),) = predicate.items()
        value = float(_RULES[name](given))
        if math.isnan(value):
            raise ValueError(name)
    except (AttributeError, KeyError, TypeError, ValueError, ArithmeticError):
        text = reprlib.repr(predicate)
        raise ValueError(f"{text} is not a predicate (docs/problem-format.md)") from None
    except RecursionError:
        raise ValueError("a predicate is nested too deeply") from None
    return min(max(value, 0.0), 1.0)


def _all_of(parts: Sequence[Mapping[str, Any]]) -> float:
    value = 1.0
    for part in parts:
        value *= estimate_selectivity(part)
    return value


def _any_of(parts: Sequence[Mapping[str, Any]]) -> float:
    value = 0.0
    for part in parts:
        one = estimate_selectivity(part)
        value += one - value * one
    return value


def _above(given: Sequence[float] | None) -> float:
    if given is None:
        return UNEQUAL
    constant, least, most = given
    return (most - constant) / (most - least)


def _below(given: Sequence[float] | None) -> float:
    return UNEQUAL if given is None else 1.0 - _above(given)


def _between(given: Sequence[float] | None) -> float:
    if given is None:
        return RANGE
    low, high, least, most = given
    return (high - low) / (most - least)


def _of_list(given: Sequence[Any]) -> float:
    count, values = given
    return float(min(count * _equals(values), MAX_OF_LIST))


def _equals(values: float | None) -> float:
    if values is None:
        return EQUAL
    if values < 0:
        raise ValueError("fewer values than none")
    return 1.0 / values


def _same(values: Sequence[float] | None) -> float:
    return _equals(None if values is None else max(values))


_RULES: Mapping[str, Any] = {
    "equals": _equals,
    "same": _same,
    "above": _above,
    "below": _below,
    "between": _between,
    "in": _of_list,
    "and": _all_of,
    "or": _any_of,
    "not": lambda part: 1.0 - estimate_selectivity(part),
}
