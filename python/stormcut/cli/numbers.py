"""Numbers on the command line."""

from __future__ import annotations

import math
from typing import Any

import click

from stormcut.placement.options import DEFAULT_SEED


class Whole(click.IntRange):
    """A whole number in a range."""

    name = "n"


class Finite(click.FloatRange):
    """A number in a range; click's own range lets "nan" and "inf" pass."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value as a number, or refuse it."""
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a number to work with.", param, ctx)
        return number


seed_option = click.option(
    "--seed",
    type=Whole(0),
    default=DEFAULT_SEED,
    show_default=True,
    help="Seed of random choices: the same seed, the same answer.",
)
