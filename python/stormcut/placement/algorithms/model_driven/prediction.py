"""The rate that a mapping of threads to slots sustains, predicted from performance models.

References
----------
A. Shukla and Y. Simmhan, "Model-driven scheduling for distributed stream processing systems",
J. Parallel Distrib. Comput. 117 (2018), sections 8.5 and 8.6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stormcut.arrays import Floats, Ints
from stormcut.placement.algorithms.model_driven.allocation import Dag, PerformanceModel


@dataclass(frozen=True)
class Predicted:
    """The highest input rate of a dataflow, tuples/s, and the task and slot that keep it down.

    The rate is infinite, and nothing keeps it down, where no task has any input.
    """

    rate: float
    task: str | None
    slot: int | None


def predict(
    models: Mapping[str, PerformanceModel],
    dag: Dag,
    threads: Ints,
    shuffle: bool = False,
    next_lower: bool = False,
) -> Predicted:
    """Return the highest input rate of a dataflow that no task keeps down.

    A task's rate is what keeps none of its slots above what its threads there sustain alone; other
    tasks on the slot are ignored, as in the paper.

    Parameters
    ----------
    models : mapping from task to its performance model
    dag : Dag
    threads : array of shape (tasks, slots)
        Threads of each task, in the order of ``dag.order``, on each slot.
    shuffle : bool
        How a task's input is shared out, see `input_shares`.
    next_lower : bool
        Whether thread counts between two profiled ones count as the lower; else rates are
        interpolated. The paper predicts 200 tuples/s for Linear under MBA and DSM by the former,
        315 under MBA and RSM by the latter.

    Notes
    -----
    Takes O(tasks x slots). Where all slots of a task are as full, the first of them is named.
    """
    per_tuple = dag.input_rates(1.0)
    predicted = Predicted(math.inf, None, None)
    for task, row in zip(dag.order, threads, strict=True):
        used = np.flatnonzero(row)
        counts = row[used]
        peaks = np.array([models[task].peak_rate(count, next_lower) for count in counts.tolist()])
        reached = peaks / input_shares(peaks, counts, shuffle)
        rate = float(reached.min()) / per_tuple[task] if per_tuple[task] else math.inf
        if rate < predicted.rate:
            predicted = Predicted(rate, task, int(used[np.argmin(np.round(reached, 9))]))
    return predicted


def cpu_by_slot(
    models: Mapping[str, PerformanceModel], dag: Dag, threads: Ints, rate: float
) -> Floats:
    """Return what each task takes of each slot's CPU, percent, shape (tasks, slots) (section 8.6).

    Threads take in proportion to what they receive, each the same, up to what their model says of
    them at their peak. Takes O(tasks x slots).

    Parameters
    ----------
    threads : array of shape (tasks, slots)
        As in `predict`.
    rate : float
        Input of the dataflow, tuples/s.
    """
    arriving = dag.input_rates(rate)
    loads = np.zeros(threads.shape)
    for index, (task, row) in enumerate(zip(dag.order, threads, strict=True)):
        used = np.flatnonzero(row)
        counts = row[used].tolist()
        peaks = np.array([models[task].peak_rate(count) for count in counts])
        cpu = np.array([models[task].resources(count)[0] for count in counts])
        busy = arriving[task] * input_shares(peaks, row[used], True) / peaks
        loads[index, used] = cpu * np.minimum(1.0, busy)
    return loads


@dataclass(frozen=True)
class Beyond:
    """A slot with more threads of a task than its model knows; `predict` counts those it knows."""

    task: str
    slot: int
    threads: int
    known: int


def beyond(models: Mapping[str, PerformanceModel], dag: Dag, threads: Ints) -> list[Beyond]:
    """Return where models do not reach: for each such task the slot with most of its threads."""
    exceeded = []
    for task, row in zip(dag.order, threads, strict=True):
        slot, known = int(row.argmax()), models[task].threads[-1]
        if row[slot] > known:
            exceeded.append(Beyond(task, slot, int(row[slot]), known))
    return exceeded


def input_shares(peaks: Floats, threads: Ints, shuffle: bool) -> Floats:
    """Return the share of a task's input that each of its slots receives, shape (slots,).

    Parameters
    ----------
    peaks : array of shape (slots,)
        What its threads on each slot sustain, tuples/s.
    threads : array of shape (slots,)
    shuffle : bool
        Whether every thread receives the same part, as under shuffle grouping; else slots receive
        in proportion to what they sustain.
    """
    weights = threads if shuffle else peaks
    result: Floats = weights / weights.sum()
    return result
