"""Bounds of algorithms' options: stated beside each number, and kept."""

import math
from dataclasses import fields
from typing import get_args, get_type_hints

import pytest

from stormcut.model.errors import InvalidInput
from stormcut.placement.options import FRACTION, NOT_NEGATIVE, POSITIVE, FiniteRange
from stormcut.placement.registry import ALGORITHMS, parse_options

NUMBERS = [
    (algorithm, field)
    for algorithm in ALGORITHMS.values()
    for field in fields(algorithm.options)
    if {int, float} & {kind := get_type_hints(algorithm.options)[field.name], *get_args(kind)}
    and not isinstance(field.default, tuple)
]


def test_there_are_numbers():
    assert len(NUMBERS) > 30


@pytest.mark.parametrize("algorithm, field", NUMBERS, ids=lambda each: each.name)
def test_every_number_has_bounds_that_hold(algorithm, field):
    bounds = field.metadata["bounds"]
    assert field.default is None or field.default in bounds
    for text in (f"{bounds.least - 1:g}", "inf", "nan"):
        with pytest.raises(InvalidInput) as refused:
            parse_options(algorithm, {field.name: text})
        assert field.name in str(refused.value)


@pytest.mark.parametrize(
    "bounds, inside, outside, words",
    [
        (FRACTION, (0, 1), (-1e-9, 1.01), "from 0 to 1"),
        (POSITIVE, (1e-9, 1e9), (0, -1, math.inf, math.nan), "above 0"),
        (NOT_NEGATIVE, (0,), (-1, math.inf), "at least 0"),
        (FiniteRange(0, 1, open_above=True), (0, 0.99), (1, -1), "at least 0 and below 1"),
        (FiniteRange(2, 4, open_below=True), (4,), (2,), "above 2 and at most 4"),
    ],
)
def test_an_interval_holds_what_it_says(bounds, inside, outside, words):
    assert all(value in bounds for value in inside)
    assert not any(value in bounds for value in outside)
    assert str(bounds) == words
