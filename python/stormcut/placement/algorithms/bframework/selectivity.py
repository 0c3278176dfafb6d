"""Share of tuples that predicates let through, when only the schema is known.

RECONSTRUCTED after System R: the paper names "simple selectivity criteria", its table is lost.

References
----------
P. Selinger et al., "Access path selection in a relational database management system", SIGMOD 1979;
M. Mortazavi-Dehkordi and K. Zamanifar, Intelligent Data Analysis 23(1), 2019, table 1.
"""

from __future__ import annotations

#: Shares for what no statistics are known of.
EQUAL, GREATER, BETWEEN = 1 / 10, 1 / 3, 1 / 4

#: A list of values lets through no more than this share.
MOST_IN_LIST = 1 / 2


def equal(distinct: int | None = None) -> float:
    """Return the share for ``column = constant``, of a column with so many different values."""
    return EQUAL if distinct is None else 1 / distinct


def join_equal(distinct_left: int | None = None, distinct_right: int | None = None) -> float:
    """Return the share of pairs for ``column = column``.

    Examples
    --------
    >>> join_equal(50, 200)
    0.005
    """
    known = [d for d in (distinct_left, distinct_right) if d is not None]
    return 1 / max(known) if known else EQUAL


def greater(constant: float, extent: tuple[float, float] | None = None) -> float:
    """Return the share for ``column > constant``, values spread evenly over ``extent``."""
    if extent is None:
        return GREATER
    low, high = extent
    return min(1.0, max(0.0, (high - constant) / (high - low)))


def between(low: float, high: float, extent: tuple[float, float] | None = None) -> float:
    """Return the share for ``low < column < high``, values spread evenly over ``extent``."""
    if extent is None:
        return BETWEEN
    return min(1.0, max(0.0, (high - low) / (extent[1] - extent[0])))


def in_list(values: int, distinct: int | None = None) -> float:
    """Return the share for ``column in (...)`` with so many values."""
    return min(values * equal(distinct), MOST_IN_LIST)


def both(one: float, other: float) -> float:
    """Return the share for ``one and other``, taken as independent."""
    return one * other


def either(one: float, other: float) -> float:
    """Return the share for ``one or other``, taken as independent."""
    return one + other - one * other


def negated(share: float) -> float:
    """Return the share for ``not predicate``."""
    return 1 - share
