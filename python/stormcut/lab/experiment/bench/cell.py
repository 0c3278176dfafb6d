"""One cell of a bench: a running topology is watched until a window is steady."""

from __future__ import annotations

import time

from stormcut.lab.experiment.bench.cells import Cell, Measurement
from stormcut.lab.experiment.bench.counters import usage
from stormcut.lab.experiment.bench.plan import Timing
from stormcut.lab.experiment.bench.ports import Entrant, Rig
from stormcut.lab.experiment.bench.windows import Sample, crowded, measure

POLL_S = 0.25
#: By then every source has reported what it did up to a moment.
REPORTED_S = 2.5


def measure_cell(cell: Cell, entrant: Entrant, rig: Rig, timing: Timing) -> Measurement:
    """Measure windows of a running entrant until one is steady, or patience ends."""
    series = _Series(entrant, rig)
    began = time.time()
    series.watch(until=began + timing.settle_s)
    while True:
        before = rig.counters()
        series.watch(until=before.at + timing.window_s)
        after = rig.counters()
        series.watch(until=after.at + REPORTED_S)
        found = measure(series.samples, before.at, after.at)
        used = usage(before, after)
        unsteady = found.unsteady or crowded(sum(used.node_cores), used.other_cores, rig.cores)
        if not unsteady or time.time() > began + timing.patience_s:
            break
    return Measurement(
        cell,
        found.begin,
        found.end,
        found.tuples_per_10s,
        found.mean_ms,
        found.p50_ms,
        found.p95_ms,
        found.p99_ms,
        used.sent_mbit_s,
        used.node_cores,
        used.other_cores,
        found.replayed,
        unsteady,
        used.node_sent_mbit_s,
        used.node_received_mbit_s,
        used.node_throttled,
    )


class _Series:
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
                if sample.at > (seen[-1].at if seen else self._since):
                    seen.append(sample)
            left = until - time.time()
            if left <= 0:
                return
            time.sleep(min(POLL_S, left))
