"""Made-up position reports: the benchmark's own data is too large to carry.

`CARS` cars go round a road of `SEGMENTS` miles. Start and speed of each are drawn alike from the
whole road and from 10 to 60 miles an hour. Each reports every 30 s, at a second of its own. Cars
2i and 2i + 1, for i below `CRASHES`, stop at the same place for `STOP_S` seconds, from a moment
drawn alike from the first `STOP_S` seconds, and then drive on from there. A report is a function of
its number alone.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from rig.records import Generated

CARS = 1000
SEGMENTS = 10
FEET = 5280
ROAD = SEGMENTS * FEET
PERIOD_S = 30
ROUNDS = 20
CRASHES = 5
STOP_S = 240
#: Feet per second of a mile an hour.
FEET_PER_S = FEET / 3600
SEED = 11


@dataclass(frozen=True)
class Car:
    """What a car does: `stop_s` is when it stops for a while, None if it never does."""

    start: int
    mph: int
    phase_s: int
    stop_s: int | None


@cache
def car(number: int) -> Car:
    """Return a car; both of a crash come to the same place at the same time."""
    crashes = number < 2 * CRASHES
    draw = random.Random(SEED + (number // 2 if crashes else number))
    start, mph, stop = draw.randrange(ROAD), draw.randint(10, 60), draw.randrange(STOP_S)
    return Car(start, mph, number % PERIOD_S, stop if crashes else None)


def report(number: int) -> str:
    """Return a report `0,second,car,mph,0,lane,0,segment,feet`, in the benchmark's columns."""
    which = car(number % CARS)
    second = number // CARS * PERIOD_S + which.phase_s
    stopped = 0 if which.stop_s is None else min(max(second - which.stop_s, 0), STOP_S)
    moving = stopped in (0, STOP_S)
    feet = int(which.start + (second - stopped) * which.mph * FEET_PER_S) % ROAD
    speed = which.mph if moving else 0
    return f"0,{second},{number % CARS},{speed},0,1,0,{feet // FEET},{feet}"


def reports() -> Generated:
    """Return the reports of all cars, round after round."""
    return Generated(report, CARS * ROUNDS)
