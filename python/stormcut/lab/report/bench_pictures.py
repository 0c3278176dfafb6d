"""Pictures of a bench: a small one for each topology, so that they can be read on a telephone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from io import BytesIO
from statistics import median
from typing import Any, NamedTuple

from stormcut.lab.experiment.bench.summary import Spread
from stormcut.lab.report.bench_figures import is_ours


class Look(NamedTuple):
    """How a scheduler is drawn: its colour, matplotlib's marker, and that shape as a character."""

    colour: str
    marker: str
    sign: str


#: Told apart with any kind of colour vision together with shapes and names; each stands out from
#: white and from black. Warm and strong only for ours.
LOOKS = {
    "even": Look("#8a8f94", "o", "●"),
    "r-storm": Look("#4f9bd6", "s", "■"),
    "ols": Look("#0a72b5", "^", "▲"),
    "p-scheduler": Look("#009e73", "v", "▼"),
    "t3-scheduler": Look("#c46fa0", "D", "◆"),
    "i-scheduler": Look("#c99200", "P", "✚"),
    "stromax": Look("#8f6bd1", "X", "✖"),
    "bframework": Look("#7f8c2d", "<", "◀"),
    "pipeline-linear": Look("#23a3b0", ">", "▶"),
    "cut": Look("#d5400a", "*", "★"),
}
OURS_WITH_OPTIONS = Look("#b01263", "*", "★")
OTHER = Look("#77695d", "h", "⬢")
#: Drawn by matplotlib, then replaced by what the page's light or dark theme says.
_INK, _RULE = "#010203", "#040506"
_WIDTH_INCHES = 3.9
#: Ticks are multiples of these times a power of ten.
_STEPS = (1, 2, 2.5, 5, 10)


def look(scheduler: str) -> Look:
    """Return how a scheduler is drawn, the same on every page."""
    return (
        OURS_WITH_OPTIONS
        if ":" in scheduler and is_ours(scheduler)
        else LOOKS.get(scheduler, OTHER)
    )


def draw_dots(values: Mapping[str, Sequence[float]], label: str) -> str:
    """Return an SVG picture: a row for each scheduler, a dot for each value, a bar to the median.

    Parameters
    ----------
    values : mapping of scheduler to sequence of float
        Empty where nothing was measured.
    label : str
        Of the axis, with its unit.
    """
    figure, axes = _figure(0.75 + 0.27 * len(values))
    names = list(values)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    for row, name in enumerate(names):
        if not values[name]:
            axes.text(0, row, " not measured", va="center", color=_INK, fontsize=9)
            continue
        colour, middle = look(name).colour, median(values[name])
        axes.barh(row, middle, height=0.72, color=colour, alpha=0.3)
        axes.plot([middle, middle], [row - 0.36, row + 0.36], color=colour, linewidth=2)
        axes.plot(values[name], [row] * len(values[name]), "o", color=colour, markersize=3.6)
    _emphasise(axes.get_yticklabels(), names)
    axes.set_xlim(left=0)
    axes.set_xlabel(label)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=_RULE, linewidth=0.6)
    return _svg(figure, label)


def draw_scatter(
    points: Mapping[str, Sequence[tuple[float, float]]], across: str, upwards: str
) -> str:
    """Return an SVG picture: a small mark for each pair of values, a large one at the medians."""
    figure, axes = _figure(2.9)
    for name, pairs in points.items():
        if not pairs:
            continue
        xs, ys = zip(*pairs, strict=True)
        drawn = look(name)
        axes.scatter(xs, ys, 9, drawn.colour, marker=drawn.marker, alpha=0.55, linewidths=0)
        _mark(axes, name, median(xs), median(ys))
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(across)
    axes.set_ylabel(upwards)
    axes.grid(color=_RULE, linewidth=0.6)
    return _svg(figure, f"{upwards} against {across}")


def draw_overview(ratios: Mapping[str, Mapping[str, Spread]], baseline: str) -> str:
    """Return an SVG picture: a row for each topology, a mark for each scheduler.

    Parameters
    ----------
    ratios : mapping of topology to mapping of scheduler to Spread
        Throughput over the baseline's.
    baseline : str
        Which scheduler 1 stands for.
    """
    figure, axes = _figure(0.75 + 0.36 * len(ratios))
    axes.set_yticks(range(len(ratios)), list(ratios))
    axes.set_ylim(len(ratios) - 0.5, -0.5)
    for row, spreads in enumerate(ratios.values()):
        if not spreads:
            axes.text(0, row, " not measured", va="center", color=_INK, fontsize=9)
        for name, spread in spreads.items():
            ends = [spread.lowest, spread.highest]
            axes.plot(ends, [row, row], color=look(name).colour, linewidth=1.2, alpha=0.7)
            _mark(axes, name, spread.median, row)
    axes.axvline(1, color=_INK, linewidth=1)
    axes.set_xlim(left=0)
    label = f"throughput, {baseline} = 1"
    axes.set_xlabel(label)
    axes.grid(color=_RULE, linewidth=0.6)
    return _svg(figure, label)


def _mark(axes: Any, scheduler: str, x: float, y: float) -> None:
    """Draw a scheduler's large mark; ours is larger than the others' and above them."""
    colour, marker, _ = look(scheduler)
    size, order = (150, 4) if is_ours(scheduler) else (55, 3)
    line = {"edgecolors": _INK, "linewidths": 0.4}
    axes.scatter(x, y, size, colour, marker=marker, zorder=order, **line)


def _figure(height: float) -> tuple[Any, Any]:
    # Half a second to import: only where a picture is asked for.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    figure = Figure(figsize=(_WIDTH_INCHES, height), layout="constrained")
    FigureCanvasAgg(figure)
    figure.patch.set_alpha(0)
    axes = figure.add_subplot()
    axes.patch.set_alpha(0)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    axes.xaxis.set_major_locator(MaxNLocator(4, steps=_STEPS))
    axes.yaxis.set_major_locator(MaxNLocator(5, steps=_STEPS))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    axes.tick_params(colors=_INK, labelsize=9.5, length=0)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set(color=_INK, fontsize=9.5)
    return figure, axes


def _emphasise(labels: Sequence[Any], names: Sequence[str]) -> None:
    for text, name in zip(labels, names, strict=True):
        text.set(fontweight="bold" if is_ours(name) else "normal")


def _svg(figure: Any, label: str) -> str:
    """Return a figure to stand inside a page, with that page's colours and font."""
    from matplotlib import rc_context

    buffer = BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    # Without a date and with fixed ids the same bench gives the same bytes.
    with rc_context({"svg.hashsalt": "stormcut", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", metadata=nothing)
    text = buffer.getvalue().decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r' (width|height)="[\d.]+pt"', "", text, count=2)
    # Several pictures in one page must not repeat an id; groups' ids are referred to by nothing.
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r'="[^"]*"', lambda match: re.sub(r"(\.\d\d)\d+", r"\1", match[0]), text)
    text = re.sub(r' ?font-family: [^;"]*;', "", text)
    text = text.replace(_INK, "currentColor").replace(_RULE, "var(--rule)")
    return text.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)
