"""The controller's loop, seen from outside: a load rises, a pattern changes, a node is lost."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Protocol

from stormcut.application.waiting import TimedOut, wait_until
from stormcut.lab.experiment.bench.windows import REPORTED_S, Sample
from stormcut.lab.experiment.ports import Cluster, Progress, Update
from stormcut.lab.experiment.recorder import Sampler
from stormcut.lab.experiment.timeline import Kind, Timeline
from stormcut.model.errors import StormcutError
from stormcut.model.profile import Profile
from stormcut.model.summaries import ExecutorSummary, TopologyInfo
from stormcut.profile.flows import Flows, between, flows, total

TOPOLOGY, SOURCE = "linear", "source"
#: Of each phase's measurement.
WINDOW_S = 15.0
#: A window in which the topology moves is measured again, so often at most.
MEASUREMENTS = 3
#: So long is looked back to see whether tuples flow.
GLANCE_S = 6.0
#: Below this share of what is offered the load stalls; above it, it is served.
STALLS, SERVED = 0.85, 0.95
#: A load that has not stalled so long after its last step does not.
STALL_S = 60.0
#: Served time without progress: workers start, the controller is sure of a change, a lost node is
#: given up.
PATIENCE_S = 120.0
#: After a restart queues empty. A rate that has not risen for so much served time has recovered.
RECOVERY_S = 40.0
#: Tuples/s of a rise that counts.
RISE_PER_S = 50.0

#: Host and port -> first tasks of the executors there.
Workers = Mapping[tuple[str, int], frozenset[int]]


class StoryError(StormcutError):
    """What should have happened did not; the text says what."""


@dataclass(frozen=True)
class Load:
    """What the sources are offered: tuples/s of each step, how long each lasts, and the shift.

    After ``shift_s`` seconds others talk to each other than before.
    """

    rates: tuple[float, ...]
    step_s: float
    shift_s: float

    def at(self, elapsed_s: float) -> float:
        """Return the tuples/s so many seconds after the launch."""
        step = int(max(elapsed_s, 0.0) // self.step_s)
        return self.rates[min(step, len(self.rates) - 1)]

    @property
    def full_s(self) -> float:
        """When the last step begins."""
        return (len(self.rates) - 1) * self.step_s


class Controller(Protocol):
    """The controller, as a process that runs beside."""

    def check(self) -> None:
        """Raise StormcutError with its last words if it has ended."""
        ...

    def news(self) -> list[tuple[float, Kind, str]]:
        """Return what it has noticed and done so far: epoch seconds, kind, words."""
        ...


class Breakable(Cluster, Protocol):
    """A cluster of which nodes can be lost."""

    def kill_supervisor(self, index: int) -> None:
        """End a supervisor and its workers without warning."""
        ...


@dataclass(frozen=True)
class Stage:
    """What a story works with.

    Attributes
    ----------
    submit : callable
        Submits `TOPOLOGY`; returns what reads the newest sample of each source process.
    controller : callable
        Returns the context in which the controller runs.
    pause : callable
        Orders the controller to leave everything as it is, or with False to go on.
    profiles : callable
        Returns what the controller has measured, by topology id.
    """

    cluster: Breakable
    submit: Callable[[], Callable[[], Mapping[str, Sample]]]
    controller: Callable[[], AbstractContextManager[Controller]]
    pause: Callable[[bool], None]
    profiles: Callable[[], Mapping[str, Profile]]
    progress: Progress


@dataclass(frozen=True)
class Phase:
    """A window under one placement, at one offered load; rates in tuples/s, times in ms.

    ``traffic`` is the last that the controller had measured by then with a size.
    """

    name: str
    begin_s: float
    end_s: float
    offered_per_s: float
    acked_per_s: float
    mean_ms: float | None
    p99_ms: float | None
    executors: tuple[ExecutorSummary, ...]
    traffic: Flows

    @property
    def crossing(self) -> float | None:
        """The share of the bytes that crosses nodes, None where no size is known."""
        every = total(self.traffic).bytes
        hosts = {
            task: each.host
            for each in self.executors
            for task in range(each.start_task, each.end_task + 1)
        }
        return between(self.traffic, hosts).bytes / every if every else None


@dataclass(frozen=True)
class Story:
    """What was seen; ``why`` says what did not happen that should have, empty if all did."""

    timeline: Timeline
    phases: tuple[Phase, ...]
    hosts: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class StorySpan:
    """A time that was measured, in epoch seconds, and whether the topology has moved in it."""

    begin: float
    end: float
    moved: bool


def measured(window: Callable[[], StorySpan], recover: Callable[[], None]) -> StorySpan:
    """Return the first window in which nothing moved, else the last of all attempts.

    After a move workers start: until they have recovered they are no measure of where they are.
    """
    result = window()
    for _ in range(MEASUREMENTS - 1):
        if not result.moved:
            break
        recover()
        result = window()
    return result


def run(load: Load, stage: Stage, chapters: int) -> Story:
    """Let the load rise, the pattern change and a node be lost; tell what the controller does.

    Parameters
    ----------
    chapters : int
        How many of these three are told.
    """
    stage.pause(True)
    with ExitStack() as stack:
        with stage.progress.step("starting the controller, paused"):
            controller = stack.enter_context(stage.controller())
        return _Teller(load, stage, controller).tell(chapters)


class _Teller:
    """Waits for what happens, and writes it down."""

    def __init__(self, load: Load, stage: Stage, controller: Controller) -> None:
        self._load, self._stage, self._controller = load, stage, controller
        with stage.progress.step(f"sparse submit {TOPOLOGY}"):
            samples = stage.submit()
        info = stage.cluster.nimbus.topology(TOPOLOGY)
        self._id = info.id
        known = stage.cluster.nimbus.cluster().supervisors
        self._hosts = {supervisor.id: supervisor.host for supervisor in known}
        # The sources' clock, too.
        self._launched = float(info.id.rsplit("-", 1)[1])
        self._record = Sampler(
            samples, lambda index: load.at(index - self._launched), self._launched
        )
        self._phases: list[Phase] = []
        self._traffic: Flows = {}
        self._shown = info
        self._update: Update = lambda detail: None

    def tell(self, chapters: int) -> Story:
        why = ""
        try:
            for chapter in (self._load_rises, self._pattern_changes, self._node_is_lost)[:chapters]:
                chapter()
            self._check_gain()
        except StoryError as error:
            why = str(error)
        self._look()
        return Story(
            Timeline((self._record.series(TOPOLOGY),)),
            tuple(self._phases),
            self._stage.cluster.supervisor_hosts,
            why,
        )

    def _load_rises(self) -> None:
        with self._step("waiting for the first acknowledged tuples"):
            self._until(self._all_ack, "every source gets tuples acknowledged")
        with self._step("waiting until the controller has measured the traffic"):
            self._until(self._has_traffic, "the controller measures the topology's traffic")
        for number, rate in enumerate(self._load.rates):
            moment = self._launched + number * self._load.step_s
            if number and rate != self._load.rates[number - 1]:
                self._record.tell(moment, Kind.LOAD, f"offered from here: {rate:,.0f} tuples/s")
        with self._step("the load rises under Storm's own scheduler"):
            self._until(self._stalls, "the load stalls under Storm's own scheduler")
        self._measure("Storm's scheduler")
        before = self._workers
        resumed = time.time()
        self._stage.pause(False)
        self._record.tell(resumed, Kind.ORDER, "stormcut resume: from here the controller acts")
        with self._step("the controller may act: waiting for its move"):
            self._until(lambda: self._moved(resumed, before), "the controller moves the topology")
        self._recover(resumed, before)
        self._measure("moved")

    def _pattern_changes(self) -> None:
        shift = self._launched + self._load.shift_s
        if time.time() > shift:
            raise StoryError(
                f"the machine is too busy: the pattern changed {time.time() - shift:.0f} s before "
                "the first move was measured; try again when it is less so"
            )
        with self._step("waiting for the tuples' pattern to change"):
            self._until(lambda: time.time() >= shift, "the pattern changes")
        text = "the keys' skew changes: as many tuples, but between other tasks, half of them idle"
        self._record.tell(shift, Kind.CHANGE, text)
        before = self._workers
        with self._step("the pattern has changed: waiting for the controller's move"):
            self._until(lambda: self._moved(shift, before), "the controller answers the change")
        moved = max(moment for moment, kind, _ in self._controller.news() if kind is Kind.MOVE)
        if moved - shift > 2 * GLANCE_S:
            self._add("traffic shifted", shift + GLANCE_S, moved, self._shown)
        self._recover(shift, before)
        self._measure("moved again")

    def _node_is_lost(self) -> None:
        cluster = self._stage.cluster
        sizes = Counter(executor.host for executor in self._info().executors)
        (lost, count), *_ = sizes.most_common(1)
        before, began = self._workers, time.time()
        with self._step(f"killing node {lost} with its supervisor and workers"):
            cluster.kill_supervisor(cluster.supervisor_hosts.index(lost))
        text = f"node {lost} is lost, with {count} of {sum(sizes.values())} executors"
        self._record.tell(began, Kind.LOSS, text)
        with self._step("waiting until the topology is whole on the other nodes"):
            self._until(
                lambda: self._whole_without(lost) and self._planned(began),
                "the controller makes the topology whole again",
            )
        nodes = len({host for host, _ in self._workers})
        self._record.tell(time.time(), Kind.WHOLE, f"all executors have a place on {nodes} nodes")
        self._recover(began, before)
        self._measure("node lost")

    def _check_gain(self) -> None:
        before, after = self._phases[0], self._phases[1]
        if after.acked_per_s < before.acked_per_s:
            raise StoryError(
                f"the move brought nothing: {after.acked_per_s:,.0f} tuples/s acknowledged, were "
                f"{before.acked_per_s:,.0f}"
            )

    def _recover(self, since: float, before: Workers) -> None:
        """Wait until restarted sources serve again, then until the load is served, or is not."""
        with self._step("waiting for acknowledged tuples under the new placement"):
            self._until(lambda: self._acks(since, before), "acknowledged tuples flow again")
        with (
            self._step("waiting until the load is served"),
            # A load that this placement cannot serve is measured all the same.
            suppress(StoryError),
        ):
            self._until(self._served, "the load is served", RECOVERY_S, self._rate)

    def _measure(self, name: str) -> None:
        before, begin = self._workers, time.time()

        def window() -> StorySpan:
            nonlocal before, begin
            with self._step(f"measuring: {name}"):
                before, begin = self._workers, time.time()
                end = begin + WINDOW_S
                self._until(lambda: time.time() > end + REPORTED_S, "the window ends")
                self._shown = self._info()
            return StorySpan(begin, end, self._shown.workers != before)

        result = measured(window, lambda: self._recover(begin, before))
        self._add(name, result.begin, result.end, self._shown)

    def _add(self, name: str, begin: float, end: float, info: TopologyInfo) -> None:
        window, began = self._record.window(begin, end), self._launched
        # Of a topology that stalls there may be nothing to measure.
        self._has_traffic()
        self._phases.append(
            Phase(
                name,
                begin - began,
                end - began,
                self._load.at(begin - began),
                window.tuples_per_10s / 10,
                window.mean_ms,
                window.p99_ms,
                info.executors,
                self._traffic,
            )
        )

    def _has_traffic(self) -> bool:
        """Keep what the controller has measured last; return whether sizes were ever known."""
        profile = self._stage.profiles().get(self._id)
        traffic = flows(profile.traffic) if profile else {}
        if total(traffic).bytes:
            self._traffic = traffic
        return bool(self._traffic)

    def _all_ack(self) -> bool:
        sources = [each for each in self._info().executors if each.component == SOURCE]
        return self._record.acking() >= len(sources) > 0

    def _acks(self, since: float, before: Workers) -> bool:
        """Return whether tuples are acknowledged, also by all sources that a move restarted."""
        stays = before.items() & self._workers.items()
        kept = {task for _, tasks in stays for task in tasks}
        info = self._info().executors
        sources = {each.start_task for each in info if each.component == SOURCE}
        restarted = self._record.acking_tasks(since)
        return bool(sources) and sources - kept <= restarted and self._rate() > 0

    def _rate(self) -> float:
        """Return the tuples/s acknowledged lately."""
        return self._record.lately(GLANCE_S).tuples_per_10s / 10

    def _stalls(self) -> bool:
        full = self._launched + self._load.full_s
        if time.time() < full + 2 * GLANCE_S + REPORTED_S:
            return False
        acked, offered = self._record.lately(2 * GLANCE_S).tuples_per_10s / 10, self._load.rates[-1]
        if acked < STALLS * offered:
            return True
        if time.time() > full + STALL_S:
            raise StoryError(
                f"the load never stalled under Storm's own scheduler: {acked:,.0f} of "
                f"{offered:,.0f} tuples/s acknowledged"
            )
        return False

    def _served(self) -> bool:
        return self._rate() >= SERVED * self._load.at(time.time() - self._launched)

    def _moved(self, since: float, before: Workers) -> bool:
        """Return whether a plan made since then is in force."""
        return self._planned(since) and self._workers != before and self._is_whole()

    def _planned(self, since: float) -> bool:
        done = (Kind.MOVE, Kind.PLACED)
        return any(moment >= since and kind in done for moment, kind, _ in self._controller.news())

    def _whole_without(self, host: str) -> bool:
        return self._is_whole() and all(host != each for each, _ in self._workers)

    def _is_whole(self) -> bool:
        nimbus = self._stage.cluster.nimbus
        (summary,) = [each for each in nimbus.cluster().topologies if each.id == self._id]
        return len(self._info().executors) == summary.executors

    @property
    def _workers(self) -> Workers:
        return self._info().workers

    def _info(self) -> TopologyInfo:
        return self._stage.cluster.nimbus.topology(TOPOLOGY)

    @contextmanager
    def _step(self, title: str) -> Iterator[None]:
        with self._stage.progress.step(title) as self._update:
            yield
        self._update = lambda detail: None

    def _until(
        self,
        condition: Callable[[], bool],
        what: str,
        patience_s: float = PATIENCE_S,
        rate: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """Wait for a condition, writing down what happens meanwhile; a rate that rises is progress.

        Raises
        ------
        StoryError
            No progress for so much served time.
        """

        def seen() -> bool:
            self._look()
            return condition()

        # What is being waited for may look the same for long; the cluster's own progress counts.
        watch = replace(
            self._stage.cluster.watch(TOPOLOGY), moves=lambda: (round(rate() / RISE_PER_S),)
        )
        try:
            wait_until(seen, patience_s, what, watch=watch)
        except TimedOut as error:
            raise StoryError(str(error)) from error

    def _look(self) -> None:
        self._controller.check()
        self._record.look()
        for moment, kind, text in self._controller.news():
            self._record.tell(moment, kind, self._readable(text))
        self._update(self._state())

    def _readable(self, text: str) -> str:
        """Return the controller's words with names in the place of ids."""
        for node, host in self._hosts.items():
            text = text.replace(node, host)
        return text.replace(f"{self._id} ", "")

    def _state(self) -> str:
        elapsed = time.time() - self._launched
        now = self._record.lately(GLANCE_S)
        mean = "" if now.mean_ms is None else f", {now.mean_ms:,.0f} ms"
        return (
            f"{elapsed:.0f} s: offered {self._load.at(elapsed):,.0f}, "
            f"acknowledged {now.tuples_per_10s / 10:,.0f} tuples/s{mean}"
        )
