"""What threads of a task sustain alone on a node, by trials at rising and halving rates.

A trial is stable if the latency of its tuples does not grow (the slope of the line through it is
below a limit, and known well enough) and its source keeps up. For each number of threads the rate
rises by larger and larger factors until a trial is unstable; then the gap between the two is
halved. The sweep over threads ends where more of them do not help.

References
----------
A. Shukla and Y. Simmhan, "Model-driven scheduling for distributed stream processing systems",
J. Parallel Distrib. Comput. 117 (2018), section 5.1 (algorithm 1, with its stop test corrected: it
ends where the rate is flat or falls, not where it rises).
"""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

from stormcut.lab.experiment.latency import mean
from stormcut.lab.experiment.ports import Progress
from stormcut.model.errors import InvalidInput
from stormcut.placement.algorithms.model_driven.allocation import PerformanceModel

#: Seconds of latency that a second may add. An overload by a share adds nearly that share.
#: The paper's 0.001 needs its 12 minutes; in as many seconds chance alone makes more.
SLOPE = 0.01
#: A trial whose slope is not known better than this is repeated, twice as long each time.
SLOPE_ERROR = SLOPE / 2
LONGEST = 4
#: Acknowledged of what was offered, at least.
SERVED = 0.97
#: Where less is acknowledged, no longer trial is needed.
OVERLOADED = 0.9
#: The rate first rises, or falls, by this factor, then by its square, and so on.
FIRST_FACTOR = 1.12
#: A peak is known where a stable and an unstable rate differ by this factor.
RESOLUTION = 1.06
#: What does not sustain this share of the first rate is given up.
LOWEST = 0.01
#: The sweep ends where the last so many numbers of threads gain less, as a share of the rate, for
#: each thread.
WINDOW, FLAT = 3, 0.001


@dataclass(frozen=True)
class Reading:
    """What one trial measured.

    Attributes
    ----------
    latency_ms : tuple of float
        Mean of the tuples acknowledged in each step of time.
    step_s : float
        Length of a step.
    sent_per_second, acked_per_second : float
        Of the source.
    cpu_percent, memory_percent : float
        What the threads took above an idle worker, of the slot.
    """

    latency_ms: tuple[float, ...]
    step_s: float
    sent_per_second: float
    acked_per_second: float
    cpu_percent: float
    memory_percent: float


@dataclass(frozen=True)
class RateTrial:
    """A rate that was tried with a number of threads, and what came of it.

    ``slope`` and ``slope_error`` are seconds of latency in a second; ``verdict`` is ``stable`` or
    says why it is not.
    """

    threads: int
    rate: float
    seconds: float
    slope: float
    slope_error: float
    acked_per_second: float
    cpu_percent: float
    memory_percent: float
    verdict: str

    @property
    def is_stable(self) -> bool:
        """Whether the rate can be sustained."""
        return self.verdict == STABLE

    @property
    def is_clear(self) -> bool:
        """Whether a longer trial would say the same: noise does not decide."""
        served = self.acked_per_second >= OVERLOADED * self.rate
        known = self.slope_error <= SLOPE_ERROR or self.slope - 2 * self.slope_error > SLOPE
        return known or not served


STABLE = "stable"


class Trials(Protocol):
    """What trials are made with."""

    def threads(self, count: int) -> AbstractContextManager[Callable[[float, float], Reading]]:
        """Return the context in which so many threads run; it yields trials by rate and seconds."""
        ...


class TrialJournal(Protocol):
    """Outlives the command: each trial as it was made."""

    def find(self, threads: int, rate: float) -> RateTrial | None:
        """Return the trial of a rate, None if there was none."""
        ...

    def add(self, trial: RateTrial) -> None:
        """Add a trial."""
        ...


@dataclass(frozen=True)
class Sweep:
    """Which trials are made: the numbers of threads, the first rate, and a trial's seconds."""

    threads: tuple[int, ...]
    first_rate: float
    seconds: float


def judged(threads: int, rate: float, seconds: float, reading: Reading) -> RateTrial:
    """Return a trial with its verdict."""
    slope, error = slope_of(reading.latency_ms, reading.step_s)
    return RateTrial(
        threads,
        rate,
        seconds,
        slope,
        error,
        reading.acked_per_second,
        reading.cpu_percent,
        reading.memory_percent,
        _verdict(rate, slope, reading),
    )


def _verdict(rate: float, slope: float, reading: Reading) -> str:
    if reading.sent_per_second < SERVED * rate:
        return f"the source sent {reading.sent_per_second:,.6g} tuples/s"
    if reading.acked_per_second < SERVED * rate:
        return f"{reading.acked_per_second / rate:.0%} of the tuples were acknowledged"
    if slope > SLOPE:
        return f"latency grows by {1000 * slope:,.0f} ms a second"
    return STABLE


def slope_of(latency_ms: Sequence[float], step_s: float) -> tuple[float, float]:
    """Return how much latency grows, in s/s, and the standard error of that; infinite: unknown."""
    count = len(latency_ms)
    if count < WINDOW:
        return math.inf, math.inf
    seconds = [step_s * step for step in range(count)]
    slope, start = statistics.linear_regression(seconds, latency_ms)
    left = sum((y - start - slope * x) ** 2 for x, y in zip(seconds, latency_ms, strict=True))
    width = statistics.pvariance(seconds) * count
    return slope / 1000, math.sqrt(left / (count - 2) / width) / 1000


def latencies(steps: Sequence[Mapping[int, int]]) -> tuple[float, ...]:
    """Return the mean latency in ms between cumulated histograms; steps without tuples left out."""
    means = (mean(Counter(after) - Counter(before)) for before, after in pairwise(steps))
    return tuple(each for each in means if each is not None)


def build(
    sweep: Sweep, trials: Trials, journal: TrialJournal, progress: Progress
) -> PerformanceModel:
    """Return what threads of a task sustain and use; trials in the journal are not made again.

    Raises
    ------
    InvalidInput
        One thread does not sustain even a hundredth of the first rate.
    """
    peaks: list[RateTrial] = []
    began = time.monotonic()
    for done, count in enumerate(sweep.threads):
        left = len(sweep.threads) - done
        minutes = (time.monotonic() - began) / done * left / 60 if done else math.nan
        about = f", about {minutes:.0f} min" if minutes > 1 else ""
        progress.say(f"{count} threads, the first of at most {left} such numbers{about}")
        near = _near(peaks, count) if peaks else sweep.first_rate
        with ExitStack() as stack:
            peak = peak_of(_Runner(count, sweep, trials, journal, progress, stack).trial, near)
        if peak is None:
            progress.say(f"{count} threads do not sustain {LOWEST * near:g} tuples/s")
            if not peaks:
                why = f"{count} threads do not sustain {LOWEST * near:g} tuples/s; begin lower"
                raise InvalidInput(why, "--first-rate")
            continue
        progress.say(
            f"{count} threads sustain {peak.rate:,.6g} tuples/s with {peak.cpu_percent:.0f} % CPU "
            f"and {peak.memory_percent:.1f} % memory"
        )
        peaks.append(peak)
        if is_flat(peaks):
            break
    return PerformanceModel(
        tuple(peak.threads for peak in peaks),
        tuple(peak.rate for peak in peaks),
        tuple(peak.cpu_percent for peak in peaks),
        tuple(peak.memory_percent for peak in peaks),
    )


def _near(peaks: Sequence[RateTrial], count: int) -> float:
    """Return the rate that a number of threads sustains if it grows as it did last."""
    last = peaks[-1]
    if len(peaks) == 1:
        return last.rate
    before = peaks[-2]
    growth = math.log(last.rate / before.rate) / math.log(last.threads / before.threads)
    return last.rate * float((count / last.threads) ** min(1.0, max(0.0, growth)))


def is_flat(peaks: Sequence[RateTrial]) -> bool:
    """Return whether more threads have stopped to help."""
    if len(peaks) < WINDOW:
        return False
    last = peaks[-WINDOW:]
    slope, _ = statistics.linear_regression(
        [peak.threads for peak in last], [peak.rate for peak in last]
    )
    return slope <= FLAT * max(peak.rate for peak in peaks)


class _Runner:
    """Makes the trials of one number of threads, which it starts when it needs them first."""

    def __init__(
        self,
        count: int,
        sweep: Sweep,
        trials: Trials,
        journal: TrialJournal,
        progress: Progress,
        stack: ExitStack,
    ) -> None:
        self._count = count
        self._seconds = sweep.seconds
        self._trials = trials
        self._journal = journal
        self._progress = progress
        self._stack = stack
        self._run: Callable[[float, float], Reading] | None = None

    def trial(self, rate: float) -> RateTrial:
        """Return the trial of a rate, as the journal has it or made now, longer if need be."""
        if known := self._journal.find(self._count, rate):
            return known
        seconds = self._seconds
        while True:
            made = judged(self._count, rate, seconds, self._made(rate, seconds))
            if made.is_clear or seconds >= LONGEST * self._seconds:
                break
            seconds *= 2
        self._journal.add(made)
        self._progress.say(
            f"{self._count} threads, {rate:,.6g} tuples/s, {seconds:.0f} s: {made.verdict}"
        )
        return made

    def _made(self, rate: float, seconds: float) -> Reading:
        if self._run is None:
            self._run = self._stack.enter_context(self._trials.threads(self._count))
        return self._run(rate, seconds)


def peak_of(tried: Callable[[float], RateTrial], near: float) -> RateTrial | None:
    """Return the stable trial of the highest rate, None without any; begins near a rate."""
    low: RateTrial | None = None
    high = math.inf
    rate, factor = near, FIRST_FACTOR
    while rate >= LOWEST * near:
        trial = tried(rate)
        if trial.is_stable:
            low = trial
        else:
            high = rate
        if low is None:
            rate, factor = high / factor, factor**2
        elif math.isinf(high):
            rate, factor = low.rate * factor, factor**2
        elif high <= RESOLUTION * low.rate:
            break
        else:
            rate = math.sqrt(low.rate * high)
    return low
