import importlib
import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from pystorm.component import Tuple
from small_clusters import SLOW_BUT_SMALL
from streamparse.dsl.topology import TopologyType

from stormcut.lab.adapters.clusters.blob_server import blob_server
from stormcut.lab.adapters.clusters.local import LocalCluster
from stormcut.lab.adapters.clusters.redis_server import redis_server

PROJECT = Path(__file__).parents[3] / "topologies"

# The components import each other as they do in a worker, where src/ is the jar's resources/.
sys.path.insert(0, str(PROJECT / "src"))
sys.path.append(str(PROJECT / "topologies"))


#: Nobody loses a machine here: a process that waits for a busy core is slow, not dead.
PATIENT = {
    **SLOW_BUT_SMALL,
    "storm.zookeeper.session.timeout": 60_000,
    "supervisor.worker.timeout.secs": 3600,
    "supervisor.worker.start.timeout.secs": 3600,
    "nimbus.task.timeout.secs": 3600,
    "nimbus.task.launch.secs": 3600,
    "nimbus.supervisor.timeout.secs": 3600,
}


@pytest.fixture(scope="session")
def project() -> Path:
    """The streamparse project."""
    return PROJECT


@pytest.fixture(scope="session")
def storm() -> Iterator[LocalCluster]:
    """A cluster without the plugin; who submits a topology kills it."""
    name = f"topologies-{os.getpid()}"
    with LocalCluster.up(name, supervisors=2, slots=2, plugin=False, config=PATIENT) as cluster:
        yield cluster


class Bench:
    """A component without Storm: what it emits, acks and fails is kept."""

    def __init__(
        self, kind: type, conf: Mapping[str, Any], name: str = "own", context: Any = None
    ) -> None:
        context = context or CONTEXT
        self.component = component = kind(input_stream=BytesIO(), output_stream=BytesIO())
        self.emitted: list[list[Any]] = []
        self.acked: list[str] = []
        self.failed: list[str] = []
        self._tuples = 0
        component.serializer.send_message = self._take
        component.component_name = name
        tasks = context["task->component"].items()
        component.task_id = next(int(task) for task, other in tasks if other == name)
        component.logger = logging.getLogger(name)
        component.initialize(conf, context)

    def give(self, *values: Any, sender: str = "before", task: int = 1) -> list[list[Any]]:
        """Give a bolt one tuple, padding added; return what it emits, padding left out."""
        self._tuples += 1
        tup = Tuple(str(self._tuples), sender, "default", task, (*values, ""))
        return self._emitted_by(lambda: self.component.process(tup), tup)

    def tick(self) -> list[list[Any]]:
        """Give a bolt a tick; return what it emits."""
        tup = Tuple("tick", "__system", "__tick", -1, (1,))
        return self._emitted_by(lambda: self.component.process_tick(tup), tup)

    def next(self) -> list[list[Any]]:
        """Ask a spout for tuples."""
        return self._emitted_by(self.component.next_tuple)

    @property
    def dropped(self) -> dict[str, int]:
        """What a bolt dropped, by reason."""
        return dict(self.component._dropped)

    def _emitted_by(self, call: Callable[[], None], tup: Tuple | None = None) -> list[list[Any]]:
        before = len(self.emitted)
        self.component._current_tups = [tup] if tup else []
        call()
        return self.emitted[before:]

    def _take(self, message: dict[str, Any]) -> None:
        command = message["command"]
        if command == "emit":
            # Storm cannot send anything else to another worker.
            assert all(isinstance(value, str | int | float) for value in message["tuple"])
            self.emitted.append(message["tuple"][:-1])
        elif command in ("ack", "fail"):
            (self.acked if command == "ack" else self.failed).append(message["id"])


CONTEXT = {"task->component": {"1": "before", "2": "own", "3": "own", "4": "after"}}


class Whole:
    """A topology in one process, one task for each component, without Storm."""

    def __init__(self, name: str, **options: Any) -> None:
        module = importlib.import_module(name)
        self._specs = next(
            value.specs
            for value in vars(module).values()
            if isinstance(value, TopologyType) and value.__name__ != "Topology"
        )
        conf = module.OPTIONS.config() | {"storm.id": "t-1-1700000000", "rig.rate": 0}
        conf |= {f"rig.{key.replace('_', '.')}": value for key, value in options.items()}
        tasks = {str(task): spec.name for task, spec in enumerate(self._specs, start=1)}
        context = {"task->component": tasks}
        self.benches = {
            spec.name: Bench(spec.component_cls, conf, spec.name, context) for spec in self._specs
        }

    def run(self) -> list[Counter[int]]:
        """Replay everything, and tick before, as Storm does, and until nothing changes any more.

        Returns how many tuples were sent in each replay of a source, for all sources.
        """
        self._tick()
        sent = [self._replay(spec.name) for spec in self._specs if not spec.inputs]
        for _ in self._specs:
            self._tick()
        return sent

    def reports(self) -> list[dict[str, Any]]:
        """Return what the tasks would report."""
        return [
            {"component": name, "answer": json.loads(json.dumps(bench.component.answer()))}
            for name, bench in self.benches.items()
        ]

    def _replay(self, source: str) -> Counter[int]:
        spout, sent = self.benches[source], Counter[int]()
        records, emitted = 0, self._emitted()
        while batch := spout.next():
            self._pass_on(source, batch)
            sent[records // len(spout.component._records)] += self._emitted() - emitted
            records, emitted = records + len(batch), self._emitted()
        return sent

    def _emitted(self) -> int:
        return sum(len(bench.emitted) for bench in self.benches.values())

    def _tick(self) -> None:
        for spec in self._specs:
            if spec.inputs:
                self._pass_on(spec.name, self.benches[spec.name].tick())

    def _pass_on(self, sender: str, batch: list[list[Any]]) -> None:
        for spec in self._specs:
            if any(stream.componentId == sender for stream in spec.inputs):
                for values in batch:
                    task = self.benches[sender].component.task_id
                    emitted = self.benches[spec.name].give(*values, sender=sender, task=task)
                    self._pass_on(spec.name, emitted)


@pytest.fixture
def bench() -> Callable[..., Bench]:
    """Return a function that sets a component up with options: `bench(Split, payload=3)`."""
    from rig.options import declare

    def start(kind: type, data: str = "", **options: Any) -> Bench:
        conf = declare(data=data).config() | {"storm.id": "t-1-1700000000"}
        conf |= {f"rig.{key.replace('_', '.')}": value for key, value in options.items()}
        return Bench(kind, conf)

    return start


@pytest.fixture
def redis() -> Iterator[str]:
    """Return the address of an empty Redis server."""
    with redis_server() as address:
        yield address


@pytest.fixture
def blobs() -> Iterator[str]:
    """Return the address of a server of objects."""
    with blob_server() as address:
        yield address


@pytest.fixture
def whole() -> type[Whole]:
    """Return the class that runs a topology in one process: `whole("taxi", replays=1).run()`."""
    return Whole
