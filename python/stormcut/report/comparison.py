"""One picture of a comparison: how far each algorithm lets tuples travel."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

from stormcut.application.compare import Trial, best_bound

#: Okabe and Ito's colours, from far to near.
COLOURS = ("#d55e00", "#e69f00", "#009e73")
DISTANCES = ("between nodes", "between workers of a node", "inside workers")


def draw_comparison(trials: Sequence[Trial], total: float, title: str, form: str) -> bytes:
    """Return a bar for each trial, least traffic between nodes first, as ``svg`` or ``png``.

    Parameters
    ----------
    trials : sequence of Trial
        Those without a solution are left out.
    total : float
        All tuples/s of the problem.
    """
    # Half a second to import: only where a picture is asked for.
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    solved = [trial.solution for trial in trials if trial.solution is not None]
    solved.sort(key=lambda solution: solution.metrics.inter_node_tuples_per_second, reverse=True)
    figure = Figure(figsize=(9, 1.6 + 0.32 * len(solved)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    names = [solution.algorithm for solution in solved]
    left = [0.0] * len(solved)
    between = [solution.metrics.inter_node_tuples_per_second for solution in solved]
    leaving = [solution.metrics.inter_worker_tuples_per_second for solution in solved]
    beside = [max(0.0, b - a) for a, b in zip(between, leaving, strict=True)]
    inside = [max(0.0, total - each) for each in leaving]
    for widths, colour, label in zip((between, beside, inside), COLOURS, DISTANCES, strict=True):
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
    buffer = BytesIO()
    # Without a date and with fixed ids the same comparison gives the same bytes.
    with rc_context({"svg.hashsalt": "stormcut"}):
        figure.savefig(buffer, format=form, metadata={"Date": None} if form == "svg" else None)
    return buffer.getvalue()
