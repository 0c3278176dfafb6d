"""What a controller's observer sees, in Prometheus's terms (docs/monitoring.md)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from stormcut.control.observe.observer import Seen


class MeasuredMetrics(Collector):
    """Metrics of running topologies, as their hooks measure them.

    Parameters
    ----------
    streams : callable
        Whether metrics are read.
    seen : callable
        What is known of topologies, by id.
    """

    def __init__(self, streams: Callable[[], bool], seen: Callable[[], Mapping[str, Seen]]) -> None:
        self._streams, self._seen = streams, seen

    def collect(self) -> Iterable[Metric]:
        """Yield all metrics as they are now."""
        meaning = "Whether metrics of topologies are read."
        yield GaugeMetricFamily("stormcut_observer_up", meaning, float(self._streams()))
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
