"""What a query's operator does, as its author declares it: Bframework's profiler reads that.

A component of a problem file may have one (``operator``), and so may a component of a topology on
Storm: its configuration then has the same JSON as a text, ``stormcut.operator.<component>``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from stormcut.model.predicate import estimate_selectivity

Amount = Annotated[float, Meta(ge=0, le=1e300)]
Positive = Annotated[float, Meta(gt=0, le=1e300)]


class Operator(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One operator.

    Parameters
    ----------
    kind : str
        What it does with tuples. What ``user_defined`` does, only ``selectivity`` says.
    schema : dict of float, optional
        Bytes of each attribute of the tuples that it emits; of an ``end``, that it writes.
    selectivity : float, optional
        Tuples that it emits for each that it takes; of a ``join``, for each pair of tuples.
    predicate : dict, optional
        What a filter or a join tests, if the selectivity is not known
        (`stormcut.model.predicate.estimate_selectivity`).
    rate : float, optional
        Tuples/s of a source.
    groups, slide_s : float, optional
        Of a ``group_by``: tuples of each window, and seconds between windows.
    windows_s : tuple of two float, optional
        Of a ``join``: seconds for which it keeps the tuples of its first and second input.
    unreadable : str
        Why what was declared cannot be used; empty if it can.
    """

    kind: Literal[
        "source", "map", "project", "filter", "flat_map", "group_by", "join", "end", "user_defined"
    ]
    schema: dict[str, Amount] | None = None
    selectivity: Amount | None = None
    predicate: dict[str, Any] | None = None
    rate: Amount | None = None
    groups: Amount | None = None
    slide_s: Positive | None = None
    windows_s: tuple[Positive, Positive] | None = None
    unreadable: str = ""

    def __post_init__(self) -> None:
        if self.predicate is not None:
            estimate_selectivity(self.predicate)

    @property
    def bytes_per_tuple(self) -> float | None:
        """Bytes of a tuple that it emits, None if nobody says."""
        return None if self.schema is None else sum(self.schema.values())


def read_operator(text: str) -> Operator:
    """Return the operator in a JSON text, or one that says why there is none.

    Never raises: a topology's author wrote the text, and others must not suffer from it.
    """
    try:
        return msgspec.json.decode(text, type=Operator)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        return Operator("user_defined", unreadable=str(error))
