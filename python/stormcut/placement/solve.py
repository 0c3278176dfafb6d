"""Solves a problem with a named algorithm, and lets nothing infeasible pass."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.placement import LowerBound, Placement, UpperBound
from stormcut.model.problem import Problem
from stormcut.native.process import NativeFailure
from stormcut.objective.headroom import Headroom, headroom
from stormcut.objective.metrics import Metrics, measure
from stormcut.objective.necessary import require_possible
from stormcut.objective.verify import Violation, violations
from stormcut.placement.options import DEFAULT_SEED
from stormcut.placement.registry import Algorithm, algorithm, parse_options


@dataclass(frozen=True)
class Certificate:
    """A proof: no feasible placement's tuples/s between nodes are below ``lower_bound``.

    ``gap`` is (value - lower_bound) / value, 0 for a value of 0.
    """

    lower_bound: float
    gap: float
    method: str


@dataclass(frozen=True)
class HeadroomCertificate:
    """A proof: no feasible placement has more head-room than ``upper_bound``.

    ``gap`` is upper_bound / value - 1.
    """

    upper_bound: float
    gap: float
    method: str


@dataclass(frozen=True, eq=False)
class Solution:
    """A feasible placement, what it is worth, and how it was found.

    ``options`` holds the seed and the algorithm's options, defaults included. ``certificate`` is
    None if the algorithm proves nothing; ``notes`` are lines for people.
    """

    algorithm: str
    options: Mapping[str, Any]
    placement: Placement
    metrics: Metrics
    headroom: Headroom
    certificate: Certificate | HeadroomCertificate | None
    notes: tuple[str, ...]


def solve(
    problem: Problem,
    algorithm_name: str,
    seed: int = DEFAULT_SEED,
    options: Mapping[str, str] | None = None,
) -> Solution:
    """Place the executors of a problem, verify the placement and measure it.

    Raises
    ------
    InvalidInput
        No such algorithm or option, a value that is not allowed, or a negative seed.
    Infeasible
        No feasible placement exists, or the algorithm found none.
    """
    chosen = algorithm(algorithm_name)
    if seed < 0:
        raise InvalidInput(f"must be at least 0, not {seed}", "seed")
    values = parse_options(chosen, options or {})
    require_possible(problem)
    try:
        placement = _placement(chosen, problem, seed, values)
    except NativeFailure as error:
        raise Infeasible(f"{chosen.name} found none: {error}", "solver") from None
    return judged(problem, chosen.name, {"seed": seed, **dataclasses.asdict(values)}, placement)


def _placement(chosen: Algorithm, problem: Problem, seed: int, options: Any) -> Placement:
    rng = np.random.default_rng(seed)
    if chosen.starts_from is None:
        return chosen.place(problem, rng, options)
    names = partial(chosen.starts_from, options, problem.executor_count)

    def starts(is_overloaded: bool) -> list[Placement]:
        built = (_start(algorithm(name), problem, seed) for name in names(is_overloaded))
        return [start for start in built if start is not None]

    return chosen.improve(problem, rng, options, starts(False), lambda: starts(True))


def _start(other: Algorithm, problem: Problem, seed: int) -> Placement | None:
    """Return what another algorithm finds, None if that is nothing, or its extra is missing."""
    try:
        options = parse_options(other, other.start_options)
        return other.place(problem, np.random.default_rng(seed), options)
    except (Infeasible, InvalidInput, NativeFailure, ModuleNotFoundError):
        return None


def judged(
    problem: Problem, name: str, options: Mapping[str, Any], placement: Placement
) -> Solution:
    """Return a placement, whoever found it, as a solution: verified and measured.

    Raises
    ------
    Infeasible
        It breaks a limit; names the first.
    """
    broken = violations(problem, placement)
    if broken:
        raise _infeasible(name, broken, placement.notes)
    metrics, room = measure(problem, placement), headroom(problem, placement)
    return Solution(
        name,
        options,
        placement,
        metrics,
        room,
        _certificate(placement.bound, metrics.inter_node_tuples_per_second, room.value),
        placement.notes,
    )


def _certificate(
    bound: LowerBound | UpperBound | None, value: float, room: float | None
) -> Certificate | HeadroomCertificate | None:
    """Return a bound as a certificate for a placement of that many tuples/s and that head-room.

    A bound on the wrong side of the value is cut to it: by rounding, or the proof is wrong, which
    tests look for.
    """
    if bound is None:
        return None
    if isinstance(bound, LowerBound):
        lower = min(max(bound.tuples_per_second, 0.0), value)
        return Certificate(lower, (value - lower) / value if value > 0 else 0.0, bound.method)
    if not room:
        return None
    upper = max(bound.headroom, room)
    return HeadroomCertificate(upper, upper / room - 1, bound.method)


def _infeasible(name: str, broken: list[Violation], notes: Sequence[str]) -> Infeasible:
    first = broken[0]
    more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
    constraint = "slots" if first.constraint == "unassigned" else first.constraint
    reason = f"; {notes[0]}" if notes else ""
    return Infeasible(f"{name} found none: {first.message}{more}{reason}", constraint)
