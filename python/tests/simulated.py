"""Time that passes when it is told to."""

from itertools import count


class SimulatedClock:
    """`Clock` whose seconds are counted, not waited for."""

    def __init__(self, seconds=1_700_000_000.0):
        self.seconds = seconds
        #: How far the time of day is ahead of what was counted: somebody sets the clock.
        self.ahead = 0.0

    def now(self):
        return self.seconds + self.ahead

    def elapsed(self):
        return self.seconds

    def wait(self, condition, until, seconds):
        if not until():
            self.seconds += seconds


def ids():
    """Return a source of plans' names: p1, p2, ..."""
    numbers = count(1)
    return lambda: f"p{next(numbers)}"
