"""One run of the hour: a cluster in containers, two topologies, and a controller beside it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.cluster.hour_figures import (
    Slots,
    acked_share,
    answers,
    cost,
    moves_in,
    planned,
    restarted,
    served_share,
)
from benchmarks.cluster.hour_load import FULL, SHIFTING, START_STEPS, STEP_S, Load, Offered, Phase
from benchmarks.machine import made_by
from stormcut.adapters.zookeeper.nodes import nodes_at
from stormcut.adapters.zookeeper.orders import change_orders
from stormcut.application.waiting import wait_until
from stormcut.cli.steps import Steps
from stormcut.lab.adapters.bench.reports import newest_of_processes
from stormcut.lab.adapters.clusters.bandwidth import Bandwidth
from stormcut.lab.adapters.clusters.docker import ClusterShape, DockerCluster
from stormcut.lab.adapters.processes.controller import (
    ControllerProcess,
    controller_process,
    write_configuration,
)
from stormcut.lab.adapters.storm.topology_site import docker_site
from stormcut.lab.experiment.bench.windows import REPORTED_S, Sample, SourceWindow
from stormcut.lab.experiment.recorder import STEP_S as POINT_S
from stormcut.lab.experiment.recorder import Sampler
from stormcut.lab.experiment.timeline import Event, Kind, Point
from stormcut.model.errors import StormcutError
from stormcut.running.declared import LINK_KEY

NODES, MBIT = 4, 10
#: What a node may hold of the 36 executors, or one node would be the best place for all.
MAX_EXECUTORS = 11
JAVA: Mapping[str, object] = {
    "language": "java",
    "grouping": "fields",
    "local.share": 0.9,
    "payload": 20_000,
    "topology.max.spout.pending": 50,
}
TOPOLOGIES: Mapping[str, Mapping[str, object]] = {
    "linear": {**JAVA, "bolts": 2, "tasks": 6, "keys": 6},
    "diamond": {**JAVA, "middles": 2, "tasks": 3, "ends": 3, "keys": 3},
}
#: A document of `stormcut operate` each, over what all have.
POLICIES: Mapping[str, Mapping[str, Any]] = {
    "automatic": {},
    "never": {"policy": {"name": "never"}},
    "periodic": {"policy": {"name": "periodic", "period": "5 min"}},
    **{
        name: {"placement": {"algorithm": name}, "policy": {"name": "own"}}
        for name in ("stromax", "bframework", "ols")
    },
}
START_PATIENCE_S = 120.0
#: Seconds between two looks at what the sources report, and at where executors run.
LOOK_S, GLANCE_S = 1.0, 5.0
HISTORY = 100
#: Of the controller's log; what Spark and Java say beside it has no such beginning.
_LINE = re.compile(r"\d{4}-\d\d-\d\d ")


@dataclass(frozen=True)
class Wanted:
    """Which run."""

    policy: str
    load: Load
    minutes: int


def run(wanted: Wanted, name: str, steps: Steps) -> dict[str, Any]:
    """Return what was seen, as JSON values; cluster and controller are gone afterwards."""
    with ExitStack() as stack:
        with steps.step(f"starting a cluster of {NODES} nodes for {wanted.policy}"):
            cluster = stack.enter_context(_cluster(name))
        config = write_configuration(cluster, **POLICIES[wanted.policy])
        _pause(cluster, True)
        with steps.step("starting the controller, paused"):
            controller = stack.enter_context(controller_process(cluster, config))
        with steps.step(f"submitting {' and '.join(TOPOLOGIES)}"):
            samples = _submit(wanted, cluster)
        return {
            **asdict(wanted),
            "load": wanted.load.name,
            "made_by": f"{made_by()} {time.strftime('%Y-%m-%d')}.",
            "config": config.read_text(),
            "settings": settings(wanted),
            **_Hour(wanted, cluster, controller, samples).seen(steps),
        }


def settings(wanted: Wanted) -> dict[str, str]:
    """Return what was run, in words."""
    load = wanted.load
    told = "; ".join(
        f"{name} with {', '.join(f'{key}={value}' for key, value in options.items())}"
        for name, options in TOPOLOGIES.items()
    )
    full = " and ".join(f"{rate:.0f} tuples/s of {name}" for name, rate in FULL.items())
    minutes = ", ".join(
        f"{phase} {len(list(same))} x {100 * share:.0f} %"
        for (phase, share), same in groupby(load.steps)
    )
    return {
        "cluster": f"Storm 1.2.4, {NODES} nodes in containers, links of {MBIT} Mbit/s each way, "
        f"CPU not limited, each declared to hold {MAX_EXECUTORS} executors",
        "topologies": told,
        "load": f"{full} are 100 %; a cycle has so many minutes of: {minutes}{_unsteady(load)}",
        "placed first": "by Storm's own scheduler, under a controller that is paused; it is let "
        "go when the clock shows 0:00",
    }


def _unsteady(load: Load) -> str:
    shift = load.cycle_s / 60
    shifts = f"; {SHIFTING}'s keys shift every {shift:.0f} minutes" if load.shift_step else ""
    return shifts + (f"; noise {load.noise:g}" if load.noise else "")


@contextmanager
def _cluster(name: str) -> Iterator[DockerCluster]:
    link = Bandwidth(MBIT * 10**6, MBIT * 10**6)
    meta = {LINK_KEY: link.mbit, "stormcut.max.executors": str(MAX_EXECUTORS)}
    config = {"supervisor.scheduler.meta": meta}
    with DockerCluster.up(ClusterShape(NODES, bandwidth=link), name, config=config) as cluster:
        if cluster.refused:
            raise StormcutError(f"the nodes' links are not limited: {cluster.refused}")
        yield cluster


def _pause(cluster: DockerCluster, wanted: bool) -> None:
    with nodes_at(cluster.zookeeper_address, cluster.auth_file) as nodes:
        nodes.secure()
        change_orders(nodes, lambda orders: replace(orders, is_paused=wanted))


def _newest(folders: Mapping[str, tuple[Path, ...]]) -> dict[str, Sample]:
    """Return the newest sample of each process of all topologies' sources."""
    return {
        f"{name}-{process}": sample
        for name, own in folders.items()
        for process, sample in newest_of_processes(own, {"source"}).items()
    }


def _submit(wanted: Wanted, cluster: DockerCluster) -> Callable[[], dict[str, Sample]]:
    """Submit all at once, so that their loads rise together; return what reads their samples."""
    site = docker_site(cluster)

    def submitted(name: str) -> tuple[Path, ...]:
        options = {**TOPOLOGIES[name], **wanted.load.options(name, wanted.minutes)}
        return site.submit(name, name, options).folders

    with ThreadPoolExecutor(len(TOPOLOGIES)) as pool:
        folders = dict(zip(TOPOLOGIES, pool.map(submitted, TOPOLOGIES), strict=True))
    return partial(_newest, folders)


class _Hour:
    """Waits until the load has begun, then writes down what happens."""

    def __init__(
        self,
        wanted: Wanted,
        cluster: DockerCluster,
        controller: ControllerProcess,
        samples: Callable[[], Mapping[str, Sample]],
    ) -> None:
        self._wanted, self._cluster, self._controller = wanted, cluster, controller
        infos = [cluster.nimbus.topology(name) for name in TOPOLOGIES]
        launched = {each.name: float(each.id.rsplit("-", 1)[1]) for each in infos}
        self._began = max(launched.values()) + START_STEPS * STEP_S
        self._offered = Offered(wanted.load, wanted.minutes, launched)
        half = POINT_S / 2
        self._record = Sampler(
            samples, lambda at: self._offered.between(at - half, at + half), self._began
        )
        self._names = {
            **{each.id: each.host for each in cluster.nimbus.cluster().supervisors},
            **{each.id: each.name for each in infos},
        }
        self._slots: dict[str, Slots] = {}
        self._changed: list[dict[str, Any]] = []
        self._history: dict[str, dict[str, Any]] = {}

    def seen(self, steps: Steps) -> dict[str, Any]:
        """Return what happened, once it is over."""
        with steps.step("waiting for the first acknowledged tuples of all sources"):
            watch = self._cluster.watch("linear")
            wait_until(self._all_ack, START_PATIENCE_S, "every source gets acks", watch=watch)
        if time.time() > self._began:
            late = time.time() - self._began
            raise StormcutError(f"the machine is too busy: workers started {late:.0f} s too late")
        end = self._began + 60 * self._wanted.minutes
        self._until(self._began)
        _pause(self._cluster, False)
        with steps.step(f"{self._wanted.policy}: {self._wanted.minutes} minutes"):
            for minute in range(1, self._wanted.minutes + 1):
                self._until(self._began + 60 * minute)
                self._read_history()
                steps.say(self._state(minute))
            self._until(end + REPORTED_S + POINT_S)
        return self._written(end)

    def _all_ack(self) -> bool:
        self._record.look()
        infos = map(self._cluster.nimbus.topology, TOPOLOGIES)
        sources = sum(each.is_spout for info in infos for each in info.executors)
        return self._record.acking() >= sources > 0

    def _until(self, end: float) -> None:
        """Look at everything until a moment."""
        glance = 0.0
        while (now := time.time()) < end:
            self._controller.check()
            self._record.look()
            if now >= glance:
                glance = now + GLANCE_S
                self._glance(now)
            time.sleep(LOOK_S)

    def _glance(self, now: float) -> None:
        """Take note of what runs elsewhere than before."""
        totals = {each.name: each.executors for each in self._cluster.nimbus.cluster().topologies}
        for name in TOPOLOGIES:
            info = self._cluster.nimbus.topology(name)
            if len(info.executors) < totals.get(name, 0):
                continue
            slots, before = info.workers, self._slots.get(name, info.workers)
            self._slots[name] = slots
            if slots != before:
                nodes = len({host for host, _ in slots})
                self._changed.append(
                    {
                        "at_s": round(now - self._began, 1),
                        "topology": name,
                        "workers_restarted": restarted(before, slots),
                        "nodes": nodes,
                        "workers": len(slots),
                    }
                )

    def _read_history(self) -> None:
        """Take note of what the brain has planned, which it keeps for a while alone."""
        with nodes_at(self._cluster.zookeeper_address, self._cluster.auth_file) as nodes:
            self._history |= {each["plan"]: each for each in nodes.read_history(HISTORY)}

    def _state(self, minute: int) -> str:
        end = self._record.reported()
        now = self._record.lately(60.0)
        return (
            f"{minute:3d} min: offered {self._offered.between(end - 60, end):.0f}, acknowledged "
            f"{now.tuples_per_10s / 10:.0f} tuples/s; {len(self._changed)} changes of placement"
        )

    def _readable(self, text: str) -> str:
        for known, name in self._names.items():
            text = text.replace(known, name)
        return text

    def _written(self, end: float) -> dict[str, Any]:
        length = end - self._began
        minutes, load = self._wanted.minutes, self._wanted.load
        points = [p for p in self._record.series("").points if p.at_s <= length]
        log = self._controller.log.read_text(encoding="utf-8", errors="replace")
        moves = moves_in(self._history.values(), planned(log), self._began)
        at = [move["at_s"] for move in moves]
        for move in moves:
            move["reasons"] = [self._readable(reason) for reason in move["reasons"]]
        whole = self._record.window(self._began, end)
        return {
            "acked_share": acked_share(points),
            "p50_ms": whole.p50_ms,
            "p99_ms": whole.p99_ms,
            "served_share": served_share(points),
            "moves": moves,
            "changed": self._changed,
            "workers_restarted": sum(each["workers_restarted"] for each in self._changed),
            "cost_tuples": cost(points, at),
            "taken_back": sum(move["undone"] for move in moves),
            "answers": answers(load.shifts(minutes), at, length),
            "phases": [self._phase(points, phase) for phase in load.phases(minutes)],
            "events": [_event_json(each) for each in self._events(moves, length)],
            "points": [[_short(value) for value in asdict(p).values()] for p in points],
            "log": [self._readable(line) for line in log.splitlines() if _LINE.match(line)],
        }

    def _phase(self, points: list[Point], phase: Phase) -> dict[str, Any]:
        within = [p for p in points if phase.begin_s < p.at_s <= phase.end_s]
        begin, end = self._began + phase.begin_s, self._began + phase.end_s
        window: SourceWindow = self._record.window(begin, end)
        return {
            **asdict(phase),
            "offered": POINT_S * sum(p.offered_per_s for p in within),
            "acked": POINT_S * sum(p.acked_per_s for p in within),
            "p50_ms": window.p50_ms,
            "p99_ms": window.p99_ms,
        }

    def _events(self, moves: list[dict[str, Any]], length: float) -> list[Event]:
        text = "linear's keys shift: as many tuples, but between other tasks"
        shifts = self._wanted.load.shifts(self._wanted.minutes)
        told = [Event(at, Kind.CHANGE, text) for at in shifts]
        for move in moves:
            parts = zip(move["topologies"], move["reasons"], strict=True)
            said = "; ".join(f"{name} {reason}" for name, reason in parts)
            told.append(Event(move["at_s"], Kind.MOVE, said))
        for at, kind, words in self._controller.news():
            if kind in (Kind.DRIFT, Kind.VERDICT):
                told.append(Event(round(at - self._began, 1), kind, self._readable(words)))
        return sorted(
            (each for each in told if 0 <= each.at_s <= length), key=lambda each: each.at_s
        )


def _event_json(event: Event) -> dict[str, Any]:
    return {**asdict(event), "kind": event.kind.value}


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
