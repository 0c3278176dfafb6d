"""One cell of a bench: a running topology is watched until a window is steady."""

from __future__ import annotations

import time

from stormcut.lab.experiment.bench.cells import Cell, Measurement
from stormcut.lab.experiment.bench.counters import usage
from stormcut.lab.experiment.bench.plan import Timing
from stormcut.lab.experiment.bench.ports import Entrant, Rig
from stormcut.lab.experiment.bench.windows import REPORTED_S, Sample, crowded, measure

POLL_S = 0.25


def measure_cell(cell: Cell, entrant: Entrant, rig: Rig, timing: Timing) -> Measurement:
    """Measure windows of a running entrant until one is steady, or patience ends."""
    series = _SourceSamples(entrant, rig)
    began = time.time()
    series.watch(until=began + timing.settle_s)
    while True:
        before = rig.counters()
        series.watch(until=before.taken_at + timing.window_s)
        after = rig.counters()
        series.watch(until=after.taken_at + REPORTED_S)
        window = measure(series.samples, before.taken_at, after.taken_at)
        used = usage(before, after)
        unsteady = window.unsteady or crowded(sum(used.node_cores), used.other_cores, rig.cores)
        if not unsteady or time.time() > began + timing.patience_s:
            break
    return Measurement(
        cell,
        window.begin,
        window.end,
        window.tuples_per_10s,
        window.mean_ms,
        window.p50_ms,
        window.p95_ms,
        window.p99_ms,
        used.sent_mbit_s,
        used.node_cores,
        used.other_cores,
        window.replayed,
        unsteady,
        used.node_sent_mbit_s,
        used.node_received_mbit_s,
        used.node_throttled,
    )


class _SourceSamples:
    """The samples of a running entrant so far."""

    def __init__(self, entrant: Entrant, rig: Rig) -> None:
        self._entrant = entrant
        self._rig = rig
        self._since = time.time()
        self.samples: dict[str, list[Sample]] = {task: [] for task in rig.samples(entrant)}

    def watch(self, until: float) -> None:
        """Collect samples up to an epoch second; what was reported before a pause is left out."""
        while True:
            for task, sample in self._rig.samples(self._entrant).items():
                seen = self.samples.setdefault(task, [])
                if sample.taken_at > (seen[-1].taken_at if seen else self._since):
                    seen.append(sample)
            left = until - time.time()
            if left <= 0:
                return
            time.sleep(min(POLL_S, left))
