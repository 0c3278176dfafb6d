"""Every placement algorithm by name, and how its options are given as text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from stormcut.model.errors import InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem
from stormcut.placement import even, p_scheduler


@dataclass(frozen=True)
class Algorithm:
    """A placement algorithm.

    Parameters
    ----------
    name : str
    summary : str
        One line for people.
    source : str
        Where it comes from.
    exact : bool
        Whether it proves its placement to be optimal.
    needs_traffic : bool
        Whether it refuses without traffic.
    options : type
        Frozen dataclass of its options; checks their values itself.
    place : callable
        ``place(problem, rng, options) -> Placement``, deterministic for a seed of ``rng``.
    """

    name: str
    summary: str
    source: str
    exact: bool
    needs_traffic: bool
    options: type[Any]
    place: Callable[[Problem, np.random.Generator, Any], Placement]


ALGORITHMS = {
    "even": Algorithm(
        name="even",
        summary="deals executors to slots in turn, blind to load, traffic and capacity",
        source="Apache Storm 1.2.4, EvenScheduler",
        exact=False,
        needs_traffic=False,
        options=even.Options,
        place=even.place,
    ),
    "p-scheduler": Algorithm(
        name="p-scheduler",
        summary="fewest nodes that carry the load, METIS cuts the traffic between them",
        source="Eskandari et al., P-Scheduler, ACSW 2016, and her thesis, chapter 7",
        exact=False,
        needs_traffic=True,
        options=p_scheduler.Options,
        place=p_scheduler.place,
    ),
}


def algorithm(name: str) -> Algorithm:
    """Return the algorithm of that name.

    Raises
    ------
    InvalidInput
        There is none.
    """
    if name not in ALGORITHMS:
        raise InvalidInput(f"no algorithm {name!r}; there are {', '.join(sorted(ALGORITHMS))}")
    return ALGORITHMS[name]


def parse_options(algorithm: Algorithm, given: Mapping[str, str]) -> Any:
    """Return an algorithm's options from ``KEY=VALUE`` texts.

    Raises
    ------
    InvalidInput
        It has no such option, or the value is not allowed; names what is.
    """
    types = get_type_hints(algorithm.options)
    names = [field.name for field in fields(algorithm.options)]
    for key in given:
        if key not in names:
            allowed = f"its options are {', '.join(names)}" if names else "it has no options"
            raise InvalidInput(f"{algorithm.name} has no such option; {allowed}", f"option {key}")
    return algorithm.options(**{key: _value(key, types[key], text) for key, text in given.items()})


def _value(key: str, kind: Any, text: str) -> Any:
    if get_origin(kind) is Literal:
        if text not in get_args(kind):
            allowed = " or ".join(get_args(kind))
            raise InvalidInput(f"must be {allowed}, not {text!r}", f"option {key}")
        return text
    try:
        return kind(text)
    except ValueError:
        wanted = {int: "a whole number", float: "a number"}[kind]
        raise InvalidInput(f"must be {wanted}, not {text!r}", f"option {key}") from None
