"""Models by trial, on a task that is known: a queue whose servers are its threads."""

import random
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormcut.adapters.files.capacity_files import read_models
from stormcut.cli.steps import Steps
from stormcut.lab.adapters.files.models_file import TrialFile, check_slot, write_model
from stormcut.lab.experiment.trials import (
    RESOLUTION,
    SLOPE,
    STABLE,
    Reading,
    Sweep,
    build,
    judged,
    latencies,
    slope_of,
)
from stormcut.model.errors import InvalidInput

STEPS = Steps("test")
SLOT = {"cores": 0.5, "memory_mb": 1024.0}


class Queue:
    """Threads that serve so many tuples/s each, all of them at most ``most``, with noise."""

    def __init__(self, each=10.0, most=35.0, noise_ms=0.0):
        self.each, self.most, self.noise_ms = each, most, noise_ms
        self.made, self.started = [], []
        self.random = random.Random(1)

    @contextmanager
    def threads(self, count):
        self.started.append(count)
        yield lambda rate, seconds: self.reading(count, rate, seconds)

    def sustained(self, count):
        return min(count * self.each, self.most)

    def reading(self, count, rate, seconds):
        self.made.append((count, rate, seconds))
        served = self.sustained(count)
        growth = max(0.0, rate / served - 1)
        steps = [
            100 + 1000 * growth * 2 * at + self.random.gauss(0, self.noise_ms)
            for at in range(int(seconds / 2))
        ]
        used = min(rate, served) / self.most
        return Reading(tuple(steps), 2.0, rate, min(rate, served), 80 * used, 5.0)


class Memory(dict):
    def find(self, threads, rate):
        return self.get((threads, rate))

    def add(self, trial):
        self[trial.threads, trial.rate] = trial


def sweep(*threads, first_rate=7.0):
    return Sweep(threads, first_rate, 12.0)


@given(
    each=st.floats(0.1, 1e4), most=st.floats(1, 20), first=st.floats(0.05, 20), noise=st.booleans()
)
def test_the_peak_is_what_the_threads_sustain(each, most, first, noise):
    queue = Queue(each, each * most, 3.0 if noise else 0.0)
    found = build(sweep(1, 2, 4, 8, first_rate=each * first), queue, Memory(), STEPS)
    for threads, rate in zip(found.threads, found.rate, strict=True):
        assert queue.sustained(threads) / RESOLUTION / 1.01 <= rate
        assert rate <= queue.sustained(threads) * (1 + 2 * SLOPE)
    # Threads beyond what the slot serves are not tried for long.
    beyond = [threads for threads in found.threads if threads * each > most * each]
    assert len(beyond) <= 3


def test_trials_that_the_journal_has_are_not_made_again():
    first, again, memory = Queue(), Queue(), Memory()
    expected = build(sweep(1, 2, 3, 4, 5, 6, 8), first, memory, STEPS)
    assert expected == build(sweep(1, 2, 3, 4, 5, 6, 8), again, memory, STEPS)
    assert again.made == again.started == []
    # As after an interruption: what is missing is made, in the same order.
    for key in [key for key in memory if key[0] > 3]:
        del memory[key]
    assert expected == build(sweep(1, 2, 3, 4, 5, 6, 8), again, memory, STEPS)
    assert (
        set(again.started)
        == {count for count, _, _ in again.made}
        == set(first.started)
        - {
            1,
            2,
            3,
        }
    )


def test_a_trial_that_tells_too_little_is_made_longer():
    calm, noisy = Queue(noise_ms=1.0), Queue(noise_ms=400.0)
    for queue in (calm, noisy):
        build(sweep(1), queue, Memory(), STEPS)
    assert {seconds for _, _, seconds in calm.made} == {12.0}
    assert max(seconds for _, _, seconds in noisy.made) == 48.0


def test_a_task_that_sustains_nothing_is_refused_and_the_trials_are_kept():
    memory = Memory()
    with pytest.raises(InvalidInput, match="--first-rate: 1 threads do not sustain 1 tuples/s"):
        build(sweep(1, first_rate=100.0), Queue(0.001), memory, STEPS)
    assert len(memory) > 3


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, STABLE),
        ({"sent_per_second": 90.0}, "the source sent 90 tuples/s"),
        ({"acked_per_second": 80.0}, "80% of the tuples were acknowledged"),
        ({"latency_ms": (1, 101, 201, 301)}, "latency grows by 50 ms a second"),
        ({"latency_ms": (1.0, 2.0)}, "latency grows by inf ms a second"),
    ],
)
def test_a_verdict_says_why(changes, verdict):
    usual = {"latency_ms": (5.0,) * 6, "sent_per_second": 100.0, "acked_per_second": 100.0}
    reading = Reading(**{**usual, **changes}, step_s=2.0, cpu_percent=50.0, memory_percent=1.0)
    assert judged(1, 100.0, 12.0, reading).verdict == verdict


@given(st.floats(-5, 5), st.integers(3, 40), st.floats(0.5, 5))
def test_the_slope_is_that_of_the_line(slope, count, step_s):
    found, error = slope_of([200 + 1000 * slope * step_s * at for at in range(count)], step_s)
    assert found == pytest.approx(slope, abs=1e-9)
    assert error == pytest.approx(0, abs=1e-9)


def test_latencies_are_of_the_tuples_of_each_step():
    assert latencies([{0: 1}, {0: 1, 100: 2}, {0: 1, 100: 2}, {0: 2, 100: 2}]) == pytest.approx(
        ((1.05**100 + 1.05**99) / 2, 0.5)
    )


def test_a_file_of_trials_is_read_again(tmp_path):
    path = tmp_path / "models.trials.jsonl"
    file = TrialFile(path, "pi", {"a": 1})
    build(sweep(1, 2), Queue(), file, STEPS)
    made = len(file)
    with path.open("a") as broken:
        broken.write('{"task": "pi", "thr')
    again = TrialFile(path, "pi", {"a": 1})
    assert len(again) == made > 0
    assert len(TrialFile(path, "pi", {"a": 2})) == len(TrialFile(path, "parse", {"a": 1})) == 0
    queue = Queue()
    build(sweep(1, 2), queue, again, STEPS)
    assert queue.made == []
    path.write_text("{}\n" + path.read_text())
    with pytest.raises(InvalidInput, match=r"trials\.jsonl:1: is no trial"):
        TrialFile(path, "pi", {"a": 1})


def test_models_of_one_slot_share_a_file(tmp_path):
    path = tmp_path / "models.json"
    one = build(sweep(1, 2), Queue(), Memory(), STEPS)
    other = build(sweep(1, 2, 3), Queue(1.0), Memory(), STEPS)
    check_slot(path, SLOT)
    for name, each in (("pi", one), ("parse", one), ("pi", other)):
        write_model(path, name, each, SLOT, "here")
    found = read_models(path)
    assert list(found) == ["parse", "pi"]
    assert found["pi"].rate == pytest.approx(other.rate, abs=1e-4)
    check_slot(path, SLOT)
    with pytest.raises(InvalidInput, match=r"of a slot of 0\.5 cores and 1024 MB, not of 1 cores"):
        check_slot(path, {**SLOT, "cores": 1.0})
