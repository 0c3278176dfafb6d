"""Every cell once, and nobody favoured by a machine that drifts."""

from collections import Counter
from itertools import groupby, pairwise

from hypothesis import given
from hypothesis import strategies as st

from stormcut.lab.experiment.bench.cells import Cell
from stormcut.lab.experiment.bench.order import order

NAMES = [f"s{number}" for number in range(9)]


def rounds(schedulers: int, repetitions: int, topologies: int = 1) -> list[list[str]]:
    cells = order([f"t{n}" for n in range(topologies)], NAMES[:schedulers], repetitions)
    return [
        [cell.scheduler for cell in group]
        for _, group in groupby(cells, key=lambda cell: (cell.topology, cell.repetition))
    ]


def position_sums(found: list[list[str]]) -> set[int]:
    sums: Counter[str] = Counter()
    for each in found:
        for position, scheduler in enumerate(each, start=1):
            sums[scheduler] += position
    return set(sums.values())


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 3))
def test_every_cell_comes_once_topology_by_topology_in_repetitions(
    schedulers: int, repetitions: int, topologies: int
) -> None:
    names = [f"t{number}" for number in range(topologies)]
    cells = list(order(names, NAMES[:schedulers], repetitions))
    assert len(set(cells)) == len(cells) == schedulers * repetitions * topologies
    assert cells == sorted(cells, key=lambda cell: (cell.topology, cell.repetition))
    assert cells == list(order(names, NAMES[:schedulers], repetitions))


@given(st.integers(1, 9), st.integers(2, 9))
def test_positions_add_up_to_the_same_or_one_more(schedulers: int, repetitions: int) -> None:
    sums = position_sums(rounds(schedulers, repetitions))
    equal_exists = repetitions % 2 == 0 or schedulers % 2 == 1
    assert max(sums) - min(sums) == (0 if equal_exists else 1)


@given(st.integers(1, 4))
def test_no_scheduler_follows_another_twice_in_an_even_number_of_repetitions(pairs: int) -> None:
    follows = [pair for each in rounds(8, 2 * pairs) for pair in pairwise(each)]
    assert len(set(follows)) == len(follows)


def test_topologies_begin_with_different_schedulers() -> None:
    assert len({each[0] for each in rounds(8, 1, topologies=8)}) == 8


def test_the_first_cell_is_the_first_scheduler() -> None:
    assert next(order(["linear"], ["even", "cut"], 1)) == Cell("linear", 1, "even")
