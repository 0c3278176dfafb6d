"""Runs over time: load, throughput and latency as lines, events as marks, on one page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from html import escape
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from jinja2 import Environment, StrictUndefined

from stormcut.lab.experiment.timeline import Event, Kind, Point, Series, Timeline
from stormcut.lab.report.picture import PALETTE
from stormcut.report.tables import Picture, Section, Table

#: Of a chart, in the picture's own units.
_WIDTH, _HEIGHT = 1060, 250
_LEFT, _RIGHT, _BOTTOM = 62, 14, 26
#: Of an event's label: rows above the plot, and how wide a letter is.
_ROW, _LETTER = 17, 7.2
_OFFERED = "#7a8894"
_KINDS = {
    Kind.LOAD: _OFFERED,
    Kind.ORDER: "#4a5a68",
    Kind.MOVE: "#009e73",
    Kind.PLACED: "#009e73",
    Kind.VERDICT: "#009e73",
    Kind.DRIFT: "#0072b2",
    Kind.CHANGE: "#b8860b",
    Kind.LOSS: "#c8102e",
    Kind.WHOLE: "#009e73",
}
#: Ticks of a linear axis are multiples of these times a power of ten; of time, of these seconds.
_STEPS = (1, 2, 2.5, 5, 10)
_SECONDS = (10, 30, 60, 120, 300, 600, 900, 1800, 3600)

Scale = Callable[[float], float]


def charts(timeline: Timeline) -> tuple[Picture, Picture]:
    """Return two pictures on one clock: throughput beside the load, and latencies."""
    return (
        Picture("Throughput: acknowledged tuples/s, beside what is offered", _rates(timeline)),
        Picture("Latency from source to last acknowledgement, ms (logarithmic)", _times(timeline)),
    )


def event_table(timeline: Timeline) -> Table:
    """Return what happened, in the order of time, numbered as in the pictures."""
    several = len(timeline.series) > 1
    rows = [
        (str(number), clock(event.at_s), event.kind.value, *([name] if several else []), event.text)
        for number, name, event in _numbered(timeline)
    ]
    header = ("", "time", "event", *(["run"] if several else []), "what happened")
    return Table(header, tuple(rows), words=len(header))


def page(title: str, headline: str, sections: Sequence[Section]) -> str:
    """Return one self-contained HTML page."""
    template = files("stormcut.lab.report").joinpath("timeline_page.html.j2")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    text = template.read_text(encoding="utf-8")
    return environment.from_string(text).render(
        # A number and its % stay together on a phone.
        title=title,
        headline=headline.replace(" %", "\N{NO-BREAK SPACE}%"),
        sections=sections,
    )


def clock(seconds: float) -> str:
    """Return a time as minutes and seconds.

    Examples
    --------
    >>> clock(65.4), clock(3600)
    ('1:05', '60:00')
    """
    whole = round(seconds)
    return f"{whole // 60}:{whole % 60:02d}"


def _rates(timeline: Timeline) -> str:
    highest = max(
        (max(p.offered_per_s, p.acked_per_s) for s in timeline.series for p in s.points),
        default=1.0,
    )
    chart = _Chart(timeline, *_linear(highest))
    # Every run is offered the same: the first one's load is drawn.
    chart.steps([(p.at_s, p.offered_per_s) for p in timeline.series[0].points])
    chart.legend("offered", _OFFERED, dashed=True)
    for series, colour in _coloured(timeline):
        chart.line(series.points, lambda p: p.acked_per_s, colour, f"{series.name}, tuples/s")
        chart.legend(f"acknowledged, {series.name}", colour)
    return chart.svg("throughput over time")


def _times(timeline: Timeline) -> str:
    known = [
        value
        for series in timeline.series
        for point in series.points
        for value in (point.mean_ms, point.p99_ms)
        if value
    ]
    chart = _Chart(timeline, *_logarithmic(min(known, default=1.0), max(known, default=10.0)))
    for series, colour in _coloured(timeline):
        chart.line(series.points, lambda p: p.p99_ms, colour, f"{series.name}, p99 ms", dashed=True)
        chart.line(series.points, lambda p: p.mean_ms, colour, f"{series.name}, mean ms")
        chart.legend(f"mean, {series.name}", colour)
        chart.legend("99th percentile", colour, dashed=True)
    return chart.svg("latency over time")


def _coloured(timeline: Timeline) -> Iterable[tuple[Series, str]]:
    return ((s, PALETTE[i % len(PALETTE)]) for i, s in enumerate(timeline.series))


def _numbered(timeline: Timeline) -> list[tuple[int, str, Event]]:
    events = ((event, series.name) for series in timeline.series for event in series.events)
    ordered = sorted(events, key=lambda each: each[0].at_s)
    return [(number, name, event) for number, (event, name) in enumerate(ordered, 1)]


def _linear(highest: float) -> tuple[Scale, list[float]]:
    """Return where values lie from 0 to 1, and the ticks."""
    highest = max(highest, 1.0)
    power = 10 ** math.floor(math.log10(highest / 4))
    step = next(s * power for s in _STEPS if highest <= 5 * s * power)
    ticks = [step * n for n in range(math.ceil(highest / step) + 1)]
    return lambda value: value / ticks[-1], ticks


def _logarithmic(lowest: float, highest: float) -> tuple[Scale, list[float]]:
    first, last = math.floor(math.log10(lowest)), math.ceil(math.log10(highest))
    last = max(last, first + 1)
    ticks = [10.0**power for power in range(first, last + 1)]
    return lambda value: (math.log10(value) - first) / (last - first), ticks


class _Label(NamedTuple):
    """An event's label above a plot: its text, where it stands, and in which row."""

    event: Event
    run: str
    text: str
    left: float
    width: float
    row: int


class _Chart:
    """A plot under the labels of the events, drawn piece by piece."""

    def __init__(self, timeline: Timeline, scale: Scale, ticks: Sequence[float]) -> None:
        self._end_s = max(timeline.end_s, 1.0)
        self._scale = scale
        labels, rows = self._labelled(timeline)
        self._top = rows * _ROW + 12
        self._parts = [*self._grid(ticks), *self._marks(labels)]
        self._legend: list[str] = []
        self._legend_x = float(_LEFT)

    @property
    def _height(self) -> float:
        return self._top + _HEIGHT + _BOTTOM

    def _x(self, at_s: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * at_s / self._end_s

    def _y(self, value: float) -> float:
        return self._top + _HEIGHT * (1 - self._scale(value))

    def _grid(self, ticks: Sequence[float]) -> Iterable[str]:
        for tick in ticks:
            y = self._y(tick)
            yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>'
            yield f'<text class="tick" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">'
            yield f"{tick:,.10g}</text>"
        step = next((s for s in _SECONDS if self._end_s / s <= 12), _SECONDS[-1])
        for n in range(int(self._end_s // step) + 1):
            x, y = self._x(n * step), self._top + _HEIGHT
            yield f'<path class="grid" d="M{x:.1f} {y:.1f}v5"/><text class="tick" x="{x:.1f}" '
            yield f'y="{y + 18:.1f}" text-anchor="middle">{clock(n * step)}</text>'

    def _labelled(self, timeline: Timeline) -> tuple[list[_Label], int]:
        """Return the events' labels, none of which covers another, and how many rows they take."""
        ends: list[float] = []
        labels = []
        for number, name, event in _numbered(timeline):
            text = f"{number} {event.kind.value}"
            width = _LETTER * len(text) + 6
            # At the right end it stands before its line.
            left = min(self._x(event.at_s), _WIDTH - width)
            row = next((i for i, end in enumerate(ends) if end <= left), len(ends))
            ends[row : row + 1] = [left + width + 2]
            labels.append(_Label(event, name, text, left, width, row))
        return labels, len(ends)

    def _marks(self, labels: Iterable[_Label]) -> Iterable[str]:
        for label in labels:
            event = label.event
            x, y, colour = self._x(event.at_s), 8 + label.row * _ROW, _KINDS[event.kind]
            what = escape(f"{clock(event.at_s)} {label.run}: {event.text}")
            yield f'<g><title>{what}</title><path class="event" d="M{x:.1f} {y}V'
            yield f'{self._top + _HEIGHT:.1f}" stroke="{colour}"/>'
            yield f'<rect x="{label.left:.1f}" y="{y - 7}" width="{label.width:.1f}" height="15" '
            yield f'rx="3" fill="{colour}"/><text class="event" x="{label.left + 4:.1f}" '
            yield f'y="{y + 4}">{escape(label.text)}</text></g>'

    def steps(self, values: Sequence[tuple[float, float]]) -> None:
        """Draw a line of steps, the area under it shaded."""
        if not values:
            return
        base = self._y(0)
        path, last = [f"M{self._x(0):.1f} {self._y(values[0][1]):.1f}"], values[0][1]
        for (before, _), (_, value) in pairwise(values):
            if value != last:
                path.append(f"H{self._x(before):.1f}V{self._y(value):.1f}")
                last = value
        end = self._x(values[-1][0])
        drawn = "".join(path) + f"H{end:.1f}"
        area = f"{drawn}V{base:.1f}H{self._x(0):.1f}Z"
        self._parts.append(f'<path class="area" d="{area}"/>')
        self._parts.append(f'<path class="line dashed" stroke="{_OFFERED}" d="{drawn}"/>')

    def line(
        self,
        points: Sequence[Point],
        value: Callable[[Point], float | None],
        colour: str,
        what: str,
        dashed: bool = False,
    ) -> None:
        """Draw a line with a gap where there is no value, and what it says at each point."""
        path, pen, spots = [], "M", []
        for point in points:
            level = value(point)
            if level is None:
                pen = "M"
                continue
            x, y = self._x(point.at_s), self._y(level)
            path.append(f"{pen}{x:.1f} {y:.1f}")
            pen = "L"
            said = f"{clock(point.at_s)} {what}: {level:,.0f}"
            spots.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5"><title>{escape(said)}</title>')
            spots.append("</circle>")
        kind = "line dashed" if dashed else "line"
        self._parts.append(f'<path class="{kind}" stroke="{colour}" d="{"".join(path)}"/>')
        self._parts.append(f'<g class="spots">{"".join(spots)}</g>')

    def legend(self, text: str, colour: str, dashed: bool = False) -> None:
        """Add a line's name below the plot."""
        x, y = self._legend_x, self._height + 14
        kind = "line dashed" if dashed else "line"
        self._legend.append(f'<path class="{kind}" stroke="{colour}" d="M{x:.0f} {y - 4}h26"/>')
        self._legend.append(f'<text class="tick" x="{x + 32:.0f}" y="{y}">{escape(text)}</text>')
        self._legend_x += 32 + _LETTER * len(text) + 26

    def svg(self, what: str) -> str:
        """Return the picture."""
        inner = "".join((*self._parts, *self._legend))
        return (
            f'<svg class="chart" viewBox="0 0 {_WIDTH} {self._height + 22:.0f}" role="img" '
            f'aria-label="{escape(what)}">{inner}</svg>'
        )
