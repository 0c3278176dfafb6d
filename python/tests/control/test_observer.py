from __future__ import annotations

import logging
import math
import re
from dataclasses import replace
from itertools import pairwise

import pytest

from stormcut.control.gate.change import Initiator
from stormcut.control.observe.observer import Observer, Watching, _sent_per_s
from stormcut.control.orders import By, Undo
from stormcut.control.ports import Unavailable
from stormcut.control.review.reviews import REVIEWS_KEPT
from stormcut.control.review.trail import Step
from stormcut.model.cluster import Slot, Worker
from stormcut.profile.decay import Slice
from stormcut.profile.totals import PairTotals, TaskTotals

T = "taxi-1-1700000000"


class Press:
    def __init__(self):
        self.profiles = []
        self.is_down = False
        self.freed = None
        self.trails, self.orders = {}, {}
        self.taken_back, self.kept = [], ()

    def publish(self, profile):
        if self.is_down:
            raise Unavailable("ZooKeeper: ConnectionLoss")
        self.profiles.append(profile)

    def trail(self, topology):
        return self.trails.get(topology, ())

    def take_back(self, topology, workers, until_s):
        self.taken_back.append(topology)
        self.orders[topology] = Undo(workers, By.CONTROLLER, until_s=until_s)

    def reviews(self):
        if self.is_down:
            raise Unavailable("ZooKeeper: ConnectionLoss")
        return self.kept

    def keep(self, reviews):
        if self.is_down:
            raise Unavailable("ZooKeeper: ConnectionLoss")
        self.kept = reviews

    def release(self, topology):
        self.freed = topology
        del self.orders[topology]


class Clock:
    now_s, ahead_s = 1000.0, 0.0

    def now(self):
        return self.now_s + self.ahead_s

    def elapsed(self):
        return self.now_s


class Stage:
    """An observer of one topology: two tasks, of which the first sends to the second."""

    def __init__(self, leads=True, **watching):
        self.press, self.clock, self.leads = Press(), Clock(), leads
        self.stored = {T}
        self.observer = Observer(
            self.press,
            self.clock,
            lambda: self.leads,
            lambda: self.stored,
            lambda: self.press.orders,
            Watching(**watching),
        )

    def plans(self, target, initiator=Initiator.GAIN):
        """A plan moves it to another host now."""
        before, after = ((Worker(Slot(h, 6700), (1, 2)),) for h in ("a", target))
        step = Step("p1", self.clock.now_s, initiator, before, after, 100.0)
        self.press.trails[T] = (*self.press.trail(T), step)

    def run(self, seconds, rate, tasks=(1, 2), host="a", slow=1.0):
        for _ in range(seconds // 10):
            self.clock.now_s += 10
            # ± 1 %: nothing measured is ever the same twice
            wobble = 1 + 0.01 * math.sin(self.clock.now_s)
            self.observer.take({T: self.slice(rate * wobble, tasks, host, slow)}, {})

    def slice(self, rate, tasks, host, slow):
        end = int(self.clock.now_s)
        measured = {
            task: TaskTotals(
                task,
                "spout" if task == 1 else "bolt",
                (task, task),
                ms=1e4,
                sent=10 * rate * (task == 1),
                executed=10 * rate * (task == 2),
                acked=10 * rate * (task == 1),
                complete_ms=50.0 * slow,
                completed=10,
                workers=((host, 6700),),
                thread_ms=1e4,
                thread_cpu_ms=rate,
            )
            for task in tasks
        }
        whole = tuple(measured.get(t, TaskTotals(t, "bolt", (t, t))) for t in (1, 2))
        return Slice(end - 10, end, whole, (PairTotals(1, 2, 10 * rate, 10, 400),))


def test_a_topology_is_told_of_once_measured_whole_and_again_when_it_changes():
    stage = Stage()
    stage.run(10, 100)
    assert not stage.press.profiles
    stage.run(600, 100)
    assert {p.topology for p in stage.press.profiles} == {T}
    # and again when it is known better
    assert [p.seconds for p in stage.press.profiles] == [20, 80, 320]
    stage.run(60, 300)
    # of what is so now alone, none of what was before
    assert stage.press.profiles[3].traffic[0].tuples_per_second == pytest.approx(300, rel=0.02)
    stage.run(1200, 300)
    assert [p.seconds for p in stage.press.profiles[3:]] == [20, 80, 320]


def test_no_profile_mixes_what_was_before_a_change_and_after():
    """At 320 s it is known four times as long as before, and the load has just changed."""
    stage = Stage()
    stage.run(310, 100)
    told = len(stage.press.profiles)
    for _ in range(12):
        stage.run(10, 250)
        for profile in stage.press.profiles[told:]:
            assert profile.traffic[0].tuples_per_second == pytest.approx(250, rel=0.03)
    assert len(stage.press.profiles) > told


def test_a_change_is_told_of_within_a_minute():
    stage = Stage()
    stage.run(300, 100)
    began, told = stage.clock.now_s, len(stage.press.profiles)
    while len(stage.press.profiles) == told:
        stage.run(10, 150)
    assert stage.clock.now_s - began <= 40


def test_what_is_measured_while_workers_start_is_of_no_load():
    """A crawl lost a node, was measured as its workers started, and moved for that: twice."""
    stage = Stage()
    stage.run(600, 100)
    published = len(stage.press.profiles)
    stage.run(50, 3, host="b")
    stage.run(100, 100, host="b")
    for profile in stage.press.profiles[published:]:
        assert profile.traffic[0].tuples_per_second == pytest.approx(100, rel=0.03)
    # A change that lasts is published, without what was before it.
    stage.run(100, 30, host="b")
    assert stage.press.profiles[-1].traffic[0].tuples_per_second == pytest.approx(30, rel=0.03)


def test_no_profile_mixes_what_was_before_a_move_and_after():
    stage = Stage()
    stage.run(600, 200)
    published = len(stage.press.profiles)
    stage.run(200, 70, host="b")
    later = stage.press.profiles[published:]
    assert later
    for profile in later:
        assert profile.traffic[0].tuples_per_second == pytest.approx(70, rel=0.03)


def test_after_a_loss_that_was_seen_late_a_profile_is_of_the_new_place_alone():
    """Workers of a dead node are silent for a minute or two before Nimbus places them again."""
    stage = Stage()
    stage.run(600, 200)
    published = len(stage.press.profiles)
    stage.run(20, 1)
    stage.run(50, 3, host="b")
    stage.run(100, 70, host="b")
    later = [each for each in stage.press.profiles[published:] if each.from_epoch_s > 1620]
    assert later
    for profile in later:
        assert profile.seconds >= 20
        assert profile.traffic[0].tuples_per_second == pytest.approx(70, rel=0.03)


def test_which_part_of_the_published_rate_is_carried_is_known():
    """A crawl that filled its windows was measured; it carried half of that, and "contradicted"."""
    stage = Stage()
    stage.run(600, 100)
    assert stage.observer.accounts()[T].share == pytest.approx(1, abs=0.05)
    stage.run(10, 50)
    assert 0.5 < stage.observer.accounts()[T].share < 0.95
    stage.run(120, 50)
    assert stage.observer.accounts()[T].share == pytest.approx(1, abs=0.05), "published again"


def test_tasks_are_measured_also_while_workers_start():
    stage = Stage()
    stage.run(100, 100)
    stage.run(10, 100, host="b")
    assert stage.observer.measured_tasks(T) == 2


def test_what_was_published_and_is_gone_is_told_again():
    stage = Stage()
    stage.run(900, 100)
    told = len(stage.press.profiles)
    stage.stored = set()
    stage.run(20, 100)
    assert len(stage.press.profiles) == told + 1
    # It is not read at once.
    stage.run(40, 100)
    assert len(stage.press.profiles) == told + 1
    stage.stored = {T}
    stage.run(300, 100)
    assert len(stage.press.profiles) == told + 1


def test_what_is_partly_measured_is_not_published():
    stage = Stage()
    stage.run(300, 100, tasks=(1,))
    assert not stage.press.profiles


def test_who_does_not_lead_publishes_nothing_and_then_all():
    stage = Stage(leads=False)
    stage.run(300, 100)
    assert not stage.press.profiles
    stage.leads = True
    stage.run(10, 100)
    assert len(stage.press.profiles) == 1


def test_what_could_not_be_published_is_published_later():
    stage = Stage()
    stage.run(300, 100)
    told = len(stage.press.profiles)
    stage.press.is_down = True
    stage.run(100, 300)
    assert len(stage.press.profiles) == told
    stage.press.is_down = False
    stage.run(10, 300)
    assert stage.press.profiles[told].traffic[0].tuples_per_second == pytest.approx(300, rel=0.02)


def test_a_period_counts_whatever_is_measured():
    stage = Stage(period_s=60.0)
    stage.run(310, 100)
    ends = [profile.to_epoch_s for profile in stage.press.profiles]
    assert [b - a for a, b in pairwise(ends)] == [60] * 4
    assert len(ends) == 5


def test_never_is_never():
    stage = Stage(is_on=False)
    stage.run(300, 100)
    stage.run(300, 1000)
    assert not stage.press.profiles
    assert stage.observer.seen()[T].measured.emitted_per_s > 0


@pytest.mark.parametrize("ahead_s", [600.0, -600.0])
def test_a_clock_that_is_set_makes_nobody_silent_and_hides_no_silence(ahead_s):
    stage = Stage()
    other = {"u": stage.slice(100.0, (1, 2), "b", 1.0)}
    for _ in range(6):
        stage.run(10, 100.0)
        stage.observer.take(other, {})
    stage.clock.ahead_s = ahead_s
    stage.clock.now_s += 5.0
    stage.observer.take(other, {})
    assert all(stage.observer.heard().values())
    for _ in range(6):
        stage.clock.now_s += 10.0
        stage.observer.take(other, {})
    assert stage.observer.heard() == {(T, "a"): False, ("u", "b"): True}


def test_what_is_silent_for_long_is_forgotten():
    stage = Stage()
    stage.run(100, 100)
    stage.clock.now_s += 601
    stage.observer.take({}, {})
    assert not stage.observer.seen()


def test_the_review_of_a_move_is_logged_with_its_plan(caplog):
    caplog.set_level(logging.INFO)
    stage = Stage(takes_back=True)
    stage.run(300, 100)
    stage.plans("b")
    stage.run(120, 60, host="b", slow=3.0)
    (step,) = stage.press.trails[T]
    (line,) = (each for each in caplog.records if each.getMessage().startswith(f"move of {T}: "))
    assert line.plan == step.plan
    assert f"{stage.press.kept[-1]}" in line.getMessage()


@pytest.mark.slow
def test_a_forecast_is_named_with_the_profile_that_it_changes(caplog):
    caplog.set_level(logging.INFO)
    stage = Stage()
    stage.run(300, 100)
    assert "forecast" not in caplog.text
    peaks(stage, 1)
    assert re.search(rf"profile of {T} published: .* \(forecast: \d\.\d\d times", caplog.text)
    assert "such changes usually pass: not published" in caplog.text


def test_a_plan_that_made_it_worse_is_taken_back_and_not_tried_for_a_while():
    stage = Stage(takes_back=True, taken_back_s=600.0)
    stage.run(300, 100)
    told = len(stage.press.profiles)
    stage.plans("b")
    stage.run(120, 60, host="b", slow=3.0)
    (order,) = stage.press.orders.values()
    assert [worker.slot.node for worker in order.workers] == ["a"]
    after = len(stage.press.profiles)
    stage.run(500, 100, host="a")
    assert len(stage.press.profiles) == after
    assert stage.press.freed is None
    assert [each.held_s for each in stage.press.kept] == [600.0]
    stage.run(200, 100, host="a")
    assert len(stage.press.profiles) > after >= told
    assert stage.press.freed == T


@pytest.mark.parametrize(
    ("rate", "slow", "takes_back"),
    [(100, 1.0, True), (150, 1.0, True), (60, 1.0, True), (60, 3.0, False)],
)
def test_what_is_no_worse_or_may_not_be_judged_stays(rate, slow, takes_back):
    stage = Stage(takes_back=takes_back)
    stage.run(300, 100)
    stage.plans("b")
    stage.run(300, rate, host="b", slow=slow)
    assert not stage.press.taken_back
    (kept,) = stage.press.kept
    assert (kept.topology, kept.plan, kept.held_s) == (T, "p1", 0.0)
    assert kept.acked_after == pytest.approx(rate, rel=0.02)


def moved(initiator, made_s=0, target="b", seen="b"):
    """An observer whose topology does far worse elsewhere, after a plan or without one."""
    stage = Stage(takes_back=True)
    stage.run(300, 100)
    if initiator is not None:
        stage.plans(target, initiator)
    stage.run(made_s, 100)
    stage.run(300, 60, host=seen, slow=3.0)
    # What it does now is told of.
    if not stage.press.taken_back:
        assert stage.press.profiles[-1].traffic[0].tuples_per_second == pytest.approx(60, rel=0.02)
    return stage.press


def test_what_no_plan_has_moved_is_not_held():
    press = moved(None)
    assert not [*press.taken_back, *press.kept]


def test_what_storm_has_moved_later_is_not_blamed_on_a_plan():
    press = moved(Initiator.GAIN, made_s=400, target="b", seen="c")
    assert not [*press.taken_back, *press.kept]


@pytest.mark.parametrize("initiator", [i for i in Initiator if i is not Initiator.GAIN])
def test_what_others_have_moved_is_not_taken_back(initiator):
    press = moved(initiator)
    assert not press.taken_back
    assert len(press.kept) == (initiator is Initiator.APPROVE)


def test_a_hold_outlives_any_number_of_reviews_of_others():
    stage = Stage(takes_back=True, taken_back_s=1800.0)
    stage.run(300, 100)
    stage.plans("b")
    stage.run(120, 60, host="b", slow=3.0)
    assert stage.press.taken_back == [T]
    stage.observer._reviews = tuple(
        replace(review, topology=f"other-{n}-1")
        for n, review in enumerate(stage.press.kept * REVIEWS_KEPT)
    )
    told = len(stage.press.profiles)
    stage.run(1600, 100, host="a")
    assert len(stage.press.profiles) == told
    stage.run(300, 100, host="a")
    assert len(stage.press.profiles) > told
    assert stage.press.freed == T


@pytest.mark.parametrize("withdraws", [False, True])
def test_what_a_person_releases_is_measured_again_at_once(withdraws):
    """`stormcut release`, or `publish --withdraw`, before the hold is over."""
    stage = Stage(takes_back=True, taken_back_s=1800.0)
    stage.run(300, 100)
    stage.plans("b")
    stage.run(120, 60, host="b", slow=3.0)
    stage.run(120, 100, host="a")
    told = len(stage.press.profiles)
    stage.press.orders.clear()
    if withdraws:
        stage.stored.clear()
    stage.run(60, 100, host="a")
    assert len(stage.press.profiles) > told
    assert stage.press.freed is None


def test_who_leads_next_does_not_try_again_either():
    stage = Stage(takes_back=True, taken_back_s=600.0)
    stage.run(300, 100)
    stage.plans("b")
    stage.run(120, 60, host="b", slow=3.0)
    assert stage.press.taken_back == [T]
    following = Stage(takes_back=True, taken_back_s=600.0)
    following.press, following.clock = stage.press, stage.clock
    following.observer = Observer(
        stage.press,
        stage.clock,
        lambda: True,
        lambda: {T},
        lambda: stage.press.orders,
        Watching(takes_back=True, taken_back_s=600.0),
    )
    told = len(stage.press.profiles)
    following.run(400, 100, host="a")
    assert len(stage.press.profiles) == told
    following.run(300, 100, host="a")
    assert len(stage.press.profiles) > told
    assert stage.press.freed == T
    # It was wrong again: twice as long.
    following.plans("b")
    following.run(120, 60, host="b", slow=3.0)
    assert [each.held_s for each in stage.press.kept] == [600.0, 1200.0]


def test_who_cannot_know_what_was_taken_back_waits():
    stage = Stage()
    stage.press.is_down = True
    stage.run(300, 100)
    stage.press.is_down = False
    assert not stage.press.profiles
    stage.run(30, 100)
    assert len(stage.press.profiles) == 1


def peaks(stage, hours):
    """Three minutes of 100 tuples/s, a minute of 300, again and again."""
    for _ in range(round(15 * hours)):
        stage.run(180, 100)
        stage.run(60, 300)
    return len(stage.press.profiles)


@pytest.mark.slow
def test_peaks_that_pass_are_not_chased_once_that_is_known():
    stage = Stage()
    chased = peaks(stage, 1)
    assert peaks(stage, 1) - chased <= 3
    # What is told of is the mean of what comes, about 150.
    sent = [p.traffic[0].tuples_per_second for p in stage.press.profiles]
    assert 110 < sent[-1] < 210


def test_a_change_that_lasts_is_told_of_within_minutes_after_peaks_too():
    stage = Stage()
    peaks(stage, 1)
    before = len(stage.press.profiles)
    stage.run(600, 600)
    assert len(stage.press.profiles) > before
    assert stage.press.profiles[-1].traffic[0].tuples_per_second == pytest.approx(600, rel=0.15)


def test_who_does_not_lead_judges_no_move():
    stage = Stage(leads=False, takes_back=True)
    stage.run(300, 100)
    stage.plans("b")
    stage.run(300, 60, host="b", slow=3.0)
    assert not [*stage.press.taken_back, *stage.press.kept]


def test_a_move_whose_end_cannot_be_kept_is_logged_and_measured_on(caplog):
    stage = Stage(takes_back=True)
    stage.run(300, 100)
    stage.plans("b")
    stage.press.is_down = True
    stage.run(120, 60, host="b", slow=3.0)
    assert caplog.text.count(f"what became of the move of {T} is not kept: ZooKeeper") == 1
    stage.press.is_down = False
    stage.run(300, 60, host="b", slow=3.0)
    assert stage.press.profiles[-1].traffic[0].tuples_per_second == pytest.approx(60, rel=0.02)


def test_a_bolt_that_becomes_dear_is_told_of_with_what_it_costs_now():
    stage = Stage()
    stage.run(600, 100)
    before = len(stage.press.profiles)
    dearer, cheap = 4.0, stage.slice

    def slice_(*its):
        known = cheap(*its)
        tasks = tuple(replace(t, thread_cpu_ms=t.thread_cpu_ms * dearer) for t in known.tasks)
        return replace(known, tasks=tasks)

    stage.slice = slice_
    stage.run(60, 100)
    assert len(stage.press.profiles) == before + 1
    points = {e.start_task: e.cpu_percent for e in stage.press.profiles[-1].executors}
    assert points[2] == pytest.approx(100 * 4.0 / 100.0, rel=0.05)


def test_what_lines_of_metrics_are_not_used_is_logged_once(caplog):
    stage = Stage()
    for count in (3, 5):
        stage.observer.take({}, {"no epoch": count})
    stage.observer.take({}, {"no task": 1})
    assert caplog.messages == [
        "3 lines of metrics not used: no epoch",
        "1 lines of metrics not used: no task",
    ]


def test_of_what_was_never_published_all_is_carried():
    stage = Stage(is_on=False)
    stage.run(10, 100)
    assert stage.observer.accounts()[T].share == 1.0
    stage.run(300, 50)
    assert stage.observer.accounts()[T].share == 1.0


def test_what_all_send_is_known_when_half_of_them_are_measured():
    tasks = tuple(TaskTotals(n, "c", (n, n), ms=1e4 * (n <= 2), sent=100 * n) for n in range(1, 5))
    assert _sent_per_s(Slice(0, 10, tasks, ())) == pytest.approx((10 + 20) * 4 / 2)
    assert _sent_per_s(Slice(0, 10, tasks[1:], ())) is None
    assert _sent_per_s(Slice(0, 10, tasks[2:], ())) is None
    assert _sent_per_s(Slice(0, 10, (), ())) is None
    # However short it is: half a millisecond.
    moment = (replace(tasks[0], ms=0.5),)
    assert _sent_per_s(Slice(0, 10, moment, ())) == pytest.approx(100 / 0.5e-3)
