"""The controller in Prometheus's terms, read when it is asked (docs/monitoring.md)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from stormcut import __version__
from stormcut.application.control.brain import Brain
from stormcut.application.control.observer import Seen


class BrainMetrics(Collector):
    """Metrics of one brain, and of what its observer sees.

    Parameters
    ----------
    leads, connected, streams : callable
        Whether this brain leads, has a session with ZooKeeper, and reads what is measured.
    seen : callable
        What is known of topologies, by id.
    """

    def __init__(
        self,
        brain: Brain,
        leads: Callable[[], bool],
        connected: Callable[[], bool],
        streams: Callable[[], bool],
        seen: Callable[[], Mapping[str, Seen]],
    ) -> None:
        self._brain = brain
        self._flags = {"leader": leads, "zookeeper_connected": connected, "observer_up": streams}
        self._seen = seen

    def collect(self) -> Iterable[Metric]:
        """Yield all metrics as they are now."""
        yield _gauge("build_info", "Which stormcut this is.", 1, version=__version__)
        meanings = {
            "leader": "Whether this brain leads.",
            "zookeeper_connected": "Whether it has a session with ZooKeeper.",
            "observer_up": "Whether metrics of topologies are read.",
        }
        for name, flag in self._flags.items():
            yield _gauge(name, meanings[name], float(flag()))
        yield from self._counters()
        yield from self._decisions()
        yield from self._measured()

    def _counters(self) -> Iterator[Metric]:
        tally = self._brain.tally
        for name, meaning, value in (
            ("decisions_total", "Times that the whole cluster was decided.", tally.decided),
            ("decision_seconds_total", "Time that took.", tally.seconds),
            ("plans_published_total", "Plans published.", tally.published),
            ("topology_moves_total", "Running topologies that plans moved.", tally.moves),
            ("slots_restarted_total", "Slots in which plans start workers anew.", tally.restarts),
        ):
            yield CounterMetricFamily(f"stormcut_{name}", meaning, value)

    def _decisions(self) -> Iterator[Metric]:
        described, governed = self._brain.last_described, self._brain.governed
        if described is None or governed is None:
            return
        age = time.time() - described.moment_ms / 1000
        yield _gauge("nimbus_asked_age_seconds", "Since Nimbus asked last.", age)
        yield _gauge("decisions_withheld", "Changes that wait.", len(governed.withheld))
        told = (*governed.told.decided, *governed.told.declined)
        actions = Counter(decision.choice.action.value for decision in told)
        family = GaugeMetricFamily(
            "stormcut_topologies", "Topologies by what was decided last.", labels=["action"]
        )
        for action, count in sorted(actions.items()):
            family.add_metric([action], count)
        yield family

    def _measured(self) -> Iterator[Metric]:
        families = [
            GaugeMetricFamily(f"stormcut_topology_{name}", meaning, labels=["topology"])
            for name, meaning in (
                ("tuples_per_second", "Tuples sent from task to task."),
                ("between_nodes_tuples_per_second", "Of these, to another node."),
                ("acked_tuples_per_second", "Tuples acked at spouts."),
                ("complete_latency_seconds", "Mean complete latency."),
                ("cpu_cores", "CPU of all executors."),
                ("measured_age_seconds", "Since its last interval ended."),
            )
        ]
        now = time.time()
        for topology, seen in sorted(self._seen().items()):
            measured = seen.measured
            latency = measured.complete_latency_ms
            values = (
                measured.emitted_per_s,
                measured.between_nodes_per_s,
                measured.acked_per_10_s / 10,
                None if latency is None else latency / 1000,
                measured.cpu_percent / 100,
                now - seen.heard_s,
            )
            for family, value in zip(families, values, strict=True):
                if value is not None:
                    family.add_metric([topology], value)
        yield from families


def _gauge(name: str, meaning: str, value: float, **labels: str) -> Metric:
    family = GaugeMetricFamily(f"stormcut_{name}", meaning, labels=list(labels))
    family.add_metric(list(labels.values()), value)
    return family
