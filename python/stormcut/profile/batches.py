"""Lines that come batch by batch: what is new in each topology."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from stormcut.profile.decay import Slice
from stormcut.profile.intervals import Interval, Run, Window, find_runs
from stormcut.profile.metric_lines import LineReader
from stormcut.profile.summing import sum_task, trace_task
from stormcut.profile.topology_sums import TopologyHistory

#: A task, or a topology, of which nothing came for this long: its next line begins a new run.
FORGET_S = 3600.0


class Batches:
    """Sums each batch as if it had been read with all that came before.

    What that takes of the past is the last interval of every task. Time is linear in what is new
    and in the tasks of the topologies it is of.

    Parameters
    ----------
    window : Window
        With ``from_s``: a move alone leaves out nothing of what was before.
    """

    def __init__(self, window: Window) -> None:
        self._window = window
        self._last: dict[str, dict[int, Interval]] = {}
        self._heard_s: dict[str, float] = {}

    def add(
        self, lines: Mapping[str, bytes], now_s: float
    ) -> tuple[dict[str, Slice], dict[str, int]]:
        """Return the sums of what is new by topology id, and why lines could not be used.

        Parameters
        ----------
        lines : mapping
            Whole lines by topology id.
        now_s : float
            The time, in seconds since the epoch.
        """
        self._forget(now_s)
        self._heard_s.update(dict.fromkeys(lines, now_s))
        slices: dict[str, Slice] = {}
        problems: Counter[str] = Counter()
        for topology, each in lines.items():
            reader = LineReader(topology, now_s)
            reader.read(each)
            for kind, count in reader.lines.kinds.items():
                if kind.problem is not None:
                    problems[kind.problem] += count
            slice_ = self._slice(topology, reader)
            if slice_ is not None:
                slices[topology] = slice_
        return slices, dict(problems)

    def _forget(self, now_s: float) -> None:
        """Forget topologies of which nothing came for long: most have ended."""
        silent = [name for name, at_s in self._heard_s.items() if at_s < now_s - FORGET_S]
        for name in silent:
            del self._heard_s[name]
            self._last.pop(name, None)

    def _slice(self, topology: str, reader: LineReader) -> Slice | None:
        logs = reader.tasks
        for task, last in self._last.get(topology, {}).items():
            logs[task].intervals.append(last)
        runs = {task: find_runs(log.intervals) for task, log in logs.items()}
        history = TopologyHistory(
            {task: trace_task(logs[task].component, each) for task, each in runs.items()}
        )
        sums = [
            sum_task(task, each, self._window, None, history.places) for task, each in runs.items()
        ]
        self._keep(topology, runs)
        return history.make_slice(each for each in sums if each is not None)

    def _keep(self, topology: str, runs: Mapping[int, Sequence[Run[Interval]]]) -> None:
        """Keep the last interval of every task for the next batch; it does not count there."""
        last = {
            task: msgspec.structs.replace(each[-1].intervals[-1], run_s=each[-1].since_s)
            for task, each in runs.items()
            if each
        }
        latest_s = max((each.end_s for each in last.values()), default=0)
        self._last[topology] = {
            task: each for task, each in last.items() if each.end_s > latest_s - FORGET_S
        }
