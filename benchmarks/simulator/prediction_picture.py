"""A picture of what was predicted beside what was measured, on logarithmic axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from stormcut.report.figures import COLOURS, drawn, empty

#: What was measured and what was predicted.
Pairs = Sequence[tuple[float, float]]


def save(figure: Figure, page: Path) -> None:
    """Write a page's picture beside it."""
    page.with_suffix(".svg").write_bytes(drawn(figure))


def prediction_picture(groups: Mapping[str, Pairs], within: float, unit: str) -> Figure:
    """Draw a point for each pair, a colour for each group, and the band of errors ``within``."""
    from matplotlib.ticker import LogLocator, ScalarFormatter

    figure = empty(6.5, 5.5)
    axes = figure.subplots()
    every = [value for pairs in groups.values() for pair in pairs for value in pair]
    ends = (min(every) / 1.1, max(every) * 1.1)
    axes.plot(ends, ends, color="gray", lw=0.8)
    low, high = ([end * (1 + off) for end in ends] for off in (-within, within))
    axes.fill_between(ends, low, high, color="lightgray", alpha=0.5, label=f"within {within:.0%}")
    for (name, pairs), colour in zip(groups.items(), COLOURS, strict=False):
        axes.plot(*zip(*pairs, strict=True), ".", color=colour, label=name)
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    axes.set(xlabel=f"measured {unit}", ylabel=f"simulated {unit}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.set_major_formatter(ScalarFormatter())
        axis.set_minor_locator(LogLocator(subs=()))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return figure
