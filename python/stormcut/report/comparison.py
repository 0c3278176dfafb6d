"""One picture of a comparison: how far each algorithm lets tuples travel."""

from __future__ import annotations

from collections.abc import Sequence

from stormcut.application.compare import Trial, best_bound
from stormcut.report.figures import COLOURS, drawn, empty

#: From far to near: what they are called, and their colours.
DISTANCES = {
    "between nodes": COLOURS[1],
    "between workers of a node": COLOURS[4],
    "inside workers": COLOURS[2],
}


def draw_comparison(trials: Sequence[Trial], total: float, title: str, form: str) -> bytes:
    """Return a bar for each trial, least traffic between nodes first, as ``svg`` or ``png``.

    Parameters
    ----------
    trials : sequence of Trial
        Those without a solution are left out.
    total : float
        All tuples/s of the problem.
    """
    solved = [trial.solution for trial in trials if trial.solution is not None]
    solved.sort(key=lambda solution: solution.metrics.inter_node_tuples_per_second, reverse=True)
    figure = empty(9, 1.6 + 0.32 * len(solved))
    axes = figure.add_subplot()
    names = [solution.algorithm for solution in solved]
    left = [0.0] * len(solved)
    between = [solution.metrics.inter_node_tuples_per_second for solution in solved]
    leaving = [solution.metrics.inter_worker_tuples_per_second for solution in solved]
    beside = [max(0.0, b - a) for a, b in zip(between, leaving, strict=True)]
    inside = [max(0.0, total - each) for each in leaving]
    rows = zip((between, beside, inside), DISTANCES.items(), strict=True)
    for widths, (label, colour) in rows:
        axes.barh(names, widths, left=left, color=colour, label=label)
        left = [a + b for a, b in zip(left, widths, strict=True)]
    for name, value in zip(names, between, strict=True):
        axes.annotate(f" {value:,.0f}", (0, name), va="center", fontsize="small", color="black")
    bound = best_bound(trials)
    if bound is not None:
        axes.axvline(bound, color="black", linestyle="--", label="proven lower bound between nodes")
    axes.set_xlabel("tuples/s")
    axes.set_title(title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return drawn(figure, form)
