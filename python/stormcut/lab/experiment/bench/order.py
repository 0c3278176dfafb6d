"""In which order cells are measured: a machine that drifts must not favour any scheduler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stormcut.lab.experiment.bench.cells import Cell


def order(topologies: Sequence[str], schedulers: Sequence[str], repetitions: int) -> Iterator[Cell]:
    """Yield every cell once: topology by topology, and there repetition by repetition.

    Over the repetitions of a topology the positions of a scheduler add up to the same as those of
    any other, or to one more where no equal sums exist, so that a steady drift cancels out; a
    single repetition cannot do that. Neighbours change from one repetition to the next, and every
    topology begins with another scheduler.
    """
    for shift, topology in enumerate(topologies):
        rounds = _rounds(len(schedulers), repetitions, shift)
        for repetition, ordinals in enumerate(rounds, start=1):
            for ordinal in ordinals:
                yield Cell(topology, repetition, schedulers[ordinal])


def _rounds(schedulers: int, repetitions: int, shift: int) -> list[list[int]]:
    """Return the order of each repetition: pairs of mirror images, before them three if odd."""
    rounds: list[list[int]] = []
    if repetitions % 2 and repetitions > 1:
        rounds = _three(_zigzag(schedulers, shift))
    while len(rounds) < repetitions:
        forth = _zigzag(schedulers, shift + (len(rounds) + 1) // 2)
        rounds += [forth, forth[::-1]]
    return rounds[:repetitions]


def _zigzag(length: int, first: int) -> list[int]:
    """Return first, first + 1, first - 1, first + 2...: every shift of it has other neighbours.

    References
    ----------
    E. J. Williams, "Experimental designs balanced for the estimation of residual effects of
    treatments", 1949.
    """
    steps = ((index + 1) // 2 if index % 2 else -(index // 2) for index in range(length))
    return [(first + step) % length for step in steps]


def _three(first: list[int]) -> list[list[int]]:
    """Return three orders of equal sums: half a turn on, then the latest so far come first."""
    half = len(first) // 2
    second = first[half:] + first[:half]
    third = sorted(first, key=lambda each: -first.index(each) - second.index(each))
    return [first, second, third]
