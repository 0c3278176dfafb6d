"""A topology's graph drawn as SVG: components from left to right, groupings on the arrows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

_WIDTH = 128
_HEIGHT = 44
_ACROSS = 132
_DOWN = 34
_MARGIN = 12
_FONT = 'font-family="sans-serif" font-size="13" text-anchor="middle"'


@dataclass(frozen=True)
class PictureEdge:
    """A stream: who sends, who receives, and its grouping."""

    sender: str
    receiver: str
    grouping: str


def draw_topology(tasks: Mapping[str, int], edges: Sequence[PictureEdge]) -> str:
    """Return the SVG picture of a graph without cycles.

    Parameters
    ----------
    tasks : mapping
        Tasks of each component, in the order in which components are declared.
    edges : sequence of Edge
        Between components of `tasks`.
    """
    columns = _columns(tasks, edges)
    places = _places(tasks, edges, columns)
    width = max(x for x, _ in places.values()) + _WIDTH + _MARGIN
    height = max(y for _, y in places.values()) + _HEIGHT + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="#555"/></marker></defs>',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    for edge in edges:
        passed = [places[edge, column] for column in _between(edge, columns)]
        parts.append(_arrow([places[edge.sender], *passed, places[edge.receiver]]))
    parts += [_label(places, edge, columns) for edge in edges]
    parts += [_box(places[name], name, tasks[name]) for name in tasks]
    return "\n".join([*parts, "</svg>\n"])


def _columns(tasks: Mapping[str, int], edges: Sequence[PictureEdge]) -> dict[str, int]:
    """Return the column of each component: its distance from the sources."""
    columns: dict[str, int] = {}
    for name in tasks:
        senders = [columns[edge.sender] for edge in edges if edge.receiver == name]
        columns[name] = max(senders, default=-1) + 1
    return columns


def _between(edge: PictureEdge, columns: Mapping[str, int]) -> range:
    """Return the columns that an arrow passes on its way."""
    return range(columns[edge.sender] + 1, columns[edge.receiver])


def _places(
    tasks: Mapping[str, int], edges: Sequence[PictureEdge], columns: Mapping[str, int]
) -> dict[object, tuple[float, float]]:
    """Return the corner of each box, and of the free cells that long arrows pass through."""
    cells: list[list[object]] = [[] for _ in range(max(columns.values()) + 1)]
    for name in tasks:
        cells[columns[name]].append(name)
    for edge in edges:
        for column in _between(edge, columns):
            cells[column].append((edge, column))
    tallest = max(map(len, cells))
    return {
        key: (
            _MARGIN + column * (_WIDTH + _ACROSS),
            _MARGIN + (row + (tallest - len(keys)) / 2) * (_HEIGHT + _DOWN),
        )
        for column, keys in enumerate(cells)
        for row, key in enumerate(keys)
    }


def _box(place: tuple[float, float], name: str, tasks: int) -> str:
    x, y = place
    middle = x + _WIDTH / 2
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" '
        f'fill="#e8f1f8" stroke="#0072b2"/>'
        f'<text x="{middle:.0f}" y="{y + 19:.0f}" {_FONT}>{escape(name)}</text>'
        f'<text x="{middle:.0f}" y="{y + 35:.0f}" {_FONT} fill="#555">{tasks}</text>'
    )


def _arrow(places: Sequence[tuple[float, float]]) -> str:
    """Return an arrow from the right side of the first place to the left side of the last."""
    points = [(places[0][0] + _WIDTH, places[0][1])]
    for x, y in places[1:-1]:
        points += [(x, y), (x + _WIDTH, y)]
    points.append((places[-1][0] - 2, places[-1][1]))
    path = " ".join(f"{x:.0f},{y + _HEIGHT / 2:.0f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="#555" marker-end="url(#tip)"/>'


def _label(
    places: Mapping[object, tuple[float, float]], edge: PictureEdge, columns: Mapping[str, int]
) -> str:
    """Return the grouping, written on the arrow's first stretch."""
    following = [(edge, column) for column in _between(edge, columns)]
    x1, y1 = places[edge.sender]
    x2, y2 = places[following[0] if following else edge.receiver]
    x, y = (x1 + _WIDTH + x2) / 2, (y1 + y2) / 2 + _HEIGHT / 2 - 5
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" {_FONT} fill="#555" stroke="white" stroke-width="4" '
        f'paint-order="stroke">{escape(edge.grouping)}</text>'
    )
