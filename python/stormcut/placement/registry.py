"""Every placement algorithm by name, and how its options are given as text."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from stormcut.model.errors import InvalidInput
from stormcut.model.placement import Placement
from stormcut.model.problem import Problem


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
    module : str
        Module of `stormcut.placement` that holds its ``place`` and ``Options``; imported when it is
        used, so that no command waits for solvers that it does not need.
    """

    name: str
    summary: str
    source: str
    module: str
    exact: bool = False
    needs_traffic: bool = False

    @property
    def options(self) -> type[Any]:
        """Frozen dataclass of its options; checks their values itself."""
        options: type[Any] = self._loaded().Options
        return options

    @property
    def place(self) -> Callable[[Problem, np.random.Generator, Any], Placement]:
        """``place(problem, rng, options) -> Placement``, deterministic for a seed of ``rng``."""
        place: Callable[[Problem, np.random.Generator, Any], Placement] = self._loaded().place
        return place

    def _loaded(self) -> Any:
        return importlib.import_module(f"stormcut.placement.{self.module}")


_THESIS = "Eskandari, thesis on task scheduling in data stream processing systems"

_ALGORITHMS = (
    Algorithm(
        "even",
        "deals executors to slots in turn, blind to load, traffic and capacity",
        "Apache Storm 1.2.4, EvenScheduler",
        "even",
    ),
    Algorithm(
        "p-scheduler",
        "fewest nodes that carry the load, METIS cuts the traffic between them",
        f"Eskandari et al., P-Scheduler, ACSW 2016; {_THESIS}, chapter 7",
        "p_scheduler",
        needs_traffic=True,
    ),
)

ALGORITHMS = {each.name: each for each in _ALGORITHMS}


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

    Types are those of the dataclass: numbers, true or false, one of several words, lists separated
    by commas; ``none`` where None is allowed.

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
    if NoneType in get_args(kind):
        if text == "none":
            return None
        (kind,) = (each for each in get_args(kind) if each is not NoneType)
    if get_origin(kind) is tuple:
        return tuple(_value(key, get_args(kind)[0], each) for each in text.split(",") if each)
    words = ("false", "true") if kind is bool else get_args(kind)
    if words and text not in words:
        raise InvalidInput(f"must be {' or '.join(words)}, not {text!r}", f"option {key}")
    if kind is bool:
        return text == "true"
    if get_origin(kind) is Literal:
        return text
    try:
        return kind(text)
    except ValueError:
        wanted = {int: "a whole number", float: "a number"}[kind]
        raise InvalidInput(f"must be {wanted}, not {text!r}", f"option {key}") from None
