"""A picture of performance models: what threads of each task sustain and use."""

from __future__ import annotations

from collections.abc import Mapping

from stormcut.placement.algorithms.model_driven.allocation import PerformanceModel
from stormcut.report.figures import COLOURS, drawn, empty
from stormcut.report.tables import format_rate

#: Panel's title, and what it shows of a model.
PANELS = ("tuples/s, % of the highest", "CPU, % of the slot", "memory, % of the slot")


def draw_models(
    ours: Mapping[str, PerformanceModel],
    others: Mapping[str, PerformanceModel],
    titles: tuple[str, str],
    form: str,
) -> bytes:
    """Return a row of three panels for each task, over threads, as ``svg`` or ``png``.

    Parameters
    ----------
    ours, others : mapping
        By task; only the others of tasks that ours has are drawn, dashed.
    titles : tuple of str
        Of ours and of the others.
    """
    from matplotlib.ticker import MaxNLocator

    figure = empty(9, 2.2 * len(ours) + 0.6)
    rows = figure.subplots(len(ours), len(PANELS), squeeze=False)
    for row, (task, model) in zip(rows, ours.items(), strict=True):
        for each, title, style, colour in (
            (model, titles[0], "o-", COLOURS[0]),
            (others.get(task), titles[1], "s--", COLOURS[1]),
        ):
            if each is None:
                continue
            shares = [100 * rate / each.best_rate for rate in each.rate]
            for axes, values in zip(
                row, (shares, each.cpu_percent, each.memory_percent), strict=True
            ):
                axes.plot(each.threads, values, style, color=colour, label=title, markersize=4)
        row[0].set_title(
            f"{task}: at most {format_rate(model.best_rate)} tuples/s", loc="left", size=9
        )
        for axes, name in zip(row, PANELS, strict=True):
            axes.set_ylim(0, 105)
            axes.set_ylabel(name, size=8)
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.spines[["top", "right"]].set_visible(False)
            axes.legend(fontsize=7, frameon=False)
    for axes in rows[-1]:
        axes.set_xlabel("threads")
    return drawn(figure, form)
