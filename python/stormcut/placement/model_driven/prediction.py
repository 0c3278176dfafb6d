"""The rate that a mapping of threads to slots sustains, predicted from performance models.

References
----------
A. Shukla and Y. Simmhan, "Model-driven scheduling for distributed stream processing systems",
J. Parallel Distrib. Comput. 117 (2018), sections 8.5 and 8.6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from stormcut.placement.model_driven.allocation import Dag, PerformanceModel

Ints = npt.NDArray[np.int64]


def predicted_rate(
    models: Mapping[str, PerformanceModel], dag: Dag, threads: Ints, shuffle: bool = False
) -> float:
    """Return the highest input rate of a dataflow that no task keeps down, tuples/s.

    A task's rate is the sum over slots of what its threads there sustain alone; other tasks on the
    slot are ignored, as in the paper.

    Parameters
    ----------
    models : mapping from task to its performance model
    dag : Dag
    threads : array of shape (tasks, slots)
        Threads of each task, in the order of ``dag.order``, on each slot.
    shuffle : bool
        Whether every thread receives the same part of its task's input, as under shuffle grouping;
        else slots receive what they sustain.

    Notes
    -----
    Takes O(tasks x slots).
    """
    per_tuple = dag.input_rates(1.0)
    rate = math.inf
    for task, row in zip(dag.order, threads, strict=True):
        used = row[row > 0]
        peaks = np.array([models[task].peak_rate(count) for count in used.tolist()])
        capacity = (peaks / used).min() * used.sum() if shuffle else peaks.sum()
        rate = min(rate, float(capacity) / per_tuple[task] if per_tuple[task] else math.inf)
    return rate
