"""Runs several algorithms on one problem, side by side."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.problem import Problem
from stormcut.objective.order import PlacementValue, advantage, best
from stormcut.objective.throughput import Throughput, predict_throughput
from stormcut.placement.registry import algorithm, parse_options
from stormcut.placement.solve import Certificate, Solution, solve
from stormcut.simulator.simulation import Latency
from stormcut.simulator.tuple_times import tuple_times

#: Settings of `cut` from least traffic to most head-room.
TRADE_OFF: tuple[Mapping[str, str], ...] = (
    {},
    {"balance": "2"},
    {"balance": "1.5"},
    {"balance": "1.2"},
    {"balance": "1.05"},
    {"objective": "headroom"},
)


class Scheduler(Protocol):
    """Whatever places the executors of a problem; its text names it for people."""

    @property
    def knows_capacity(self) -> bool:
        """Whether what nodes can hold may change its placement."""
        ...

    @property
    def by_declaration(self) -> bool:
        """Whether it packs by the CPU that executors declare, whatever was measured."""
        ...

    def ignores(self, problem: Problem) -> list[str]:
        """Return what a problem has that it does not count, as far as that is known."""
        ...

    def solve(self, problem: Problem, seed: int) -> Solution:
        """Return its placement, verified.

        Raises
        ------
        Infeasible
            It finds none.
        """
        ...


@dataclass(frozen=True)
class Contender:
    """An algorithm with options as texts: a `Scheduler`."""

    algorithm: str
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Contender:
        """Return the contender of a text such as ``cut`` or ``cut:traffic=tuples+balance=2``.

        Raises
        ------
        InvalidInput
            There is no such algorithm or option, or no value for one.
        """
        name, _, given = text.partition(":")
        options = {}
        for part in filter(None, given.split("+")):
            key, equals, value = part.partition("=")
            if not equals:
                raise InvalidInput(f"must be NAME:KEY=VALUE+KEY=VALUE, not {text!r}", "algorithm")
            options[key] = value
        parse_options(algorithm(name), options)
        return cls(name, options)

    @property
    def knows_capacity(self) -> bool:
        """Whether what nodes can hold may change its placement."""
        return algorithm(self.algorithm).knows_capacity

    @property
    def by_declaration(self) -> bool:
        """Whether it packs by the CPU that executors declare, whatever was measured."""
        return algorithm(self.algorithm).by_declaration

    def ignores(self, problem: Problem) -> list[str]:
        """Return what a problem has that it does not count."""
        return algorithm(self.algorithm).ignores(problem)

    def solve(self, problem: Problem, seed: int) -> Solution:
        """Return its placement, verified; raises `Infeasible` without one."""
        return solve(problem, self.algorithm, seed, self.options)

    def __str__(self) -> str:
        """Return its name with its options, for people."""
        return " ".join([self.algorithm, *(f"{key}={text}" for key, text in self.options.items())])


@dataclass(frozen=True, eq=False)
class Trial:
    """What one algorithm made of a problem.

    ``algorithm`` is its name, with options if it had any. Either ``solution``
    is there, or ``refusal`` says why it has none.
    ``seconds`` is wall time, the algorithm's own first-time preparations included. ``throughput``
    is what sources would reach, and ``times`` how long tuples of each topology take at the
    problem's rates, None where that cannot be told. ``ignores`` is what the problem has that it
    does not count.
    """

    algorithm: str
    seconds: float
    solution: Solution | None = None
    refusal: str | None = None
    throughput: Throughput | None = None
    times: Mapping[str, Latency] | None = None
    ignores: tuple[str, ...] = ()


def compare(problem: Problem, contenders: Sequence[Scheduler], seed: int) -> Iterator[Trial]:
    """Yield a trial of each contender, in the order given, as soon as it ends.

    Raises
    ------
    InvalidInput
        There is no such algorithm or option, or the seed is negative.
    """
    for contender in contenders:
        name = str(contender)
        start = time.perf_counter()
        try:
            solution = contender.solve(problem, seed)
        except Infeasible as refusal:
            yield Trial(name, time.perf_counter() - start, refusal=str(refusal))
            continue
        took = time.perf_counter() - start
        reached = predict_throughput(problem, solution.placement)
        times = tuple_times(problem, solution.placement)
        ignores = tuple(contender.ignores(problem))
        yield Trial(name, took, solution, None, reached, times, ignores)


def best_trial(problem: Problem, trials: Sequence[Trial]) -> tuple[int, str] | None:
    """Return the position of the best trial by the order, and why it is; None if all refused.

    The reason is what the next best lacks.
    """
    solved = [index for index, trial in enumerate(trials) if trial.solution is not None]
    values = {
        index: PlacementValue(problem, trials[index].solution.placement)  # type: ignore[union-attr]
        for index in solved
    }
    if not solved:
        return None
    first = solved[best([values[index] for index in solved])]
    rest = [index for index in solved if index != first]
    if not rest:
        return first, "the only placement found"
    second = rest[best([values[index] for index in rest])]
    other = trials[second].algorithm
    lead = advantage(values[first], values[second])
    return first, f"{lead} ({other})" if lead else f"as good as {other}"


def best_bound(trials: Sequence[Trial]) -> float | None:
    """Return the highest lower bound that any of the trials has proven, None without one."""
    bounds = [
        trial.solution.certificate.lower_bound
        for trial in trials
        if trial.solution is not None and isinstance(trial.solution.certificate, Certificate)
    ]
    return max(bounds, default=None)


def gap(value: float, bound: float) -> float:
    """Return the largest part of a value that an optimum could save, given a lower bound."""
    return max(0.0, value - bound) / value if value > 0 else 0.0
