"""Pictures of a bench: a small one for each topology, so that they can be read on a telephone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from statistics import median
from typing import Any

#: Told apart with any kind of colour vision together with shapes and names; each stands out from
#: white and from black. Warm and strong only for ours.
COLOURS = {
    "even": "#8a8f94",
    "r-storm": "#4f9bd6",
    "ols": "#0a72b5",
    "p-scheduler": "#009e73",
    "t3-scheduler": "#c46fa0",
    "i-scheduler": "#c99200",
    "stromax": "#8f6bd1",
    "bframework": "#7f8c2d",
    "pipeline-linear": "#23a3b0",
    "cut": "#d5400a",
}
OTHER = "#77695d"
#: matplotlib's markers, and the same shapes as characters for a legend.
SHAPES = {
    "even": ("o", "●"),
    "r-storm": ("s", "■"),
    "ols": ("^", "▲"),
    "p-scheduler": ("v", "▼"),
    "t3-scheduler": ("D", "◆"),
    "i-scheduler": ("P", "✚"),
    "stromax": ("X", "✖"),
    "bframework": ("<", "◀"),
    "pipeline-linear": (">", "▶"),
    "cut": ("*", "★"),
}
#: Drawn by matplotlib, then replaced by what the page's light or dark theme says.
_INK, _RULE = "#010203", "#040506"
_WIDTH_INCHES = 4.2


def colour(scheduler: str) -> str:
    """Return a scheduler's colour, the same on every page."""
    return COLOURS.get(scheduler, OTHER)


def shape(scheduler: str) -> tuple[str, str]:
    """Return a scheduler's marker and the same shape as a character."""
    return SHAPES.get(scheduler, ("o", "●"))


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
            axes.text(0, row, " not measured", va="center", color=_INK, fontsize=7.5)
            continue
        middle = median(values[name])
        axes.barh(row, middle, height=0.72, color=colour(name), alpha=0.3)
        axes.plot([middle, middle], [row - 0.36, row + 0.36], color=colour(name), linewidth=2)
        axes.plot(values[name], [row] * len(values[name]), "o", color=colour(name), markersize=3.6)
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
        marker, size = shape(name)[0], 150 if name == "cut" else 62
        xs, ys = zip(*pairs, strict=True)
        axes.scatter(xs, ys, s=9, marker=marker, color=colour(name), alpha=0.55, linewidths=0)
        axes.scatter(
            median(xs),
            median(ys),
            s=size,
            marker=marker,
            color=colour(name),
            edgecolors=_INK,
            linewidths=0.5,
            zorder=3,
        )
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(across)
    axes.set_ylabel(upwards)
    axes.grid(color=_RULE, linewidth=0.6)
    return _svg(figure, f"{upwards} against {across}")


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
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    axes.tick_params(colors=_INK, labelsize=8.5, length=0)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set(color=_INK, fontsize=8.5)
    return figure, axes


def _emphasise(labels: Sequence[Any], names: Sequence[str]) -> None:
    for text, name in zip(labels, names, strict=True):
        text.set(fontweight="bold" if name == "cut" else "normal")


def _svg(figure: Any, label: str) -> str:
    """Return a figure to stand inside a page: its text in the page's colours, no ids of its own."""
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
    text = text.replace(_INK, "currentColor").replace(_RULE, "var(--rule)")
    return text.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
