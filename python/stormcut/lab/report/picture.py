"""A placement drawn as SVG: nodes, their workers, executors, and the traffic between them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from stormcut.model.summaries import ExecutorSummary
from stormcut.profile.flows import Flow, Flows

#: Okabe and Ito's palette: told apart with any kind of colour vision.
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#000000")
SYSTEM_COLOUR = "#999999"

_RADIUS = 13
_CELL = 36
_PER_ROW = 4
_MARGIN = 16
_GAP = 90
_TITLE = 26
_BEND = 0.15


@dataclass(frozen=True)
class _Box:
    x: float
    y: float
    width: float
    height: float


def component_colours(executors: Sequence[ExecutorSummary]) -> dict[str, str]:
    """Return a colour per component; Storm's own components are all grey."""
    names = sorted({executor.component for executor in executors})
    users = [name for name in names if not name.startswith("__")]
    colours = {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(users)}
    return {name: colours.get(name, SYSTEM_COLOUR) for name in names}


def short_name(component: str) -> str:
    """Return a component's name without the package that Storm puts into a consumer's."""
    return re.sub(r"^__metrics(?:\w+\.)*", "metrics: ", component)


def draw_placement(
    hosts: Sequence[str],
    executors: Sequence[ExecutorSummary],
    traffic: Flows,
    heaviest: Flow,
) -> str:
    """Return an SVG picture of a placement.

    Parameters
    ----------
    hosts : sequence of str
        All nodes, unused ones too; drawn in rows of two.
    executors : sequence of ExecutorSummary
    traffic : mapping of (source task, target task) to Flow
    heaviest : Flow
        What is drawn with the thickest line: give two pictures the same to compare them. Lines
        show bytes/s if it has any, else tuples/s.
    """
    boxes = _lay_out_nodes(hosts, executors)
    nodes, labels, centres = [], [], {}
    for host in hosts:
        inner = [executor for executor in executors if executor.host == host]
        drawn, written, inner_centres = _draw_node(
            host, inner, boxes[host], component_colours(executors)
        )
        nodes.append(drawn)
        labels.append(written)
        centres.update(inner_centres)
    width = max(box.x + box.width for box in boxes.values()) + _MARGIN
    height = max(box.y + box.height for box in boxes.values()) + _MARGIN
    layers = (
        "".join(nodes),
        _draw_edges(executors, traffic, centres, heaviest),
        "".join(labels),
        _draw_executors(executors, centres),
    )
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="placement on {len(hosts)} nodes">{"".join(layers)}</svg>'
    )


def _workers(executors: Sequence[ExecutorSummary]) -> dict[int, list[ExecutorSummary]]:
    workers: dict[int, list[ExecutorSummary]] = {}
    for executor in sorted(executors, key=lambda e: (e.port, e.start_task)):
        workers.setdefault(executor.port, []).append(executor)
    return workers


def _worker_size(count: int) -> tuple[float, float]:
    rows = math.ceil(count / _PER_ROW)
    return _PER_ROW * _CELL + _MARGIN, rows * _CELL + _TITLE


def _lay_out_nodes(hosts: Sequence[str], executors: Sequence[ExecutorSummary]) -> dict[str, _Box]:
    """Place one box a node, two in a row, each row as high as its tallest node."""
    sizes = {}
    for host in hosts:
        workers = _workers([e for e in executors if e.host == host])
        heights = [_worker_size(len(inner))[1] + 8 for inner in workers.values()]
        sizes[host] = (_PER_ROW * _CELL + 3 * _MARGIN, _TITLE + sum(heights or [40]) + 8)
    boxes, y = {}, float(_MARGIN)
    for row in range(0, len(hosts), 2):
        pair = hosts[row : row + 2]
        for column, host in enumerate(pair):
            width, height = sizes[host]
            boxes[host] = _Box(_MARGIN + column * (width + _GAP), y, width, height)
        y += max(sizes[host][1] for host in pair) + _GAP / 2
    return boxes


def _draw_node(
    host: str,
    executors: Sequence[ExecutorSummary],
    box: _Box,
    colours: Mapping[str, str],
) -> tuple[str, str, dict[int, tuple[float, float, str]]]:
    """Return a node's boxes, their labels, and (x, y, colour) by each executor's first task."""
    state = "" if executors else " unused"
    parts = [
        f'<rect class="node{state}" x="{box.x:.0f}" y="{box.y:.0f}" width="{box.width:.0f}" '
        f'height="{box.height:.0f}" rx="8"/>'
    ]
    labels = [
        f'<text class="node" x="{box.x + 12:.0f}" y="{box.y + 18:.0f}">node {escape(host)}'
        f"{' (unused)' if state else ''}</text>"
    ]
    centres = {}
    y = box.y + _TITLE
    for port, inner in _workers(executors).items():
        width, height = _worker_size(len(inner))
        x = box.x + _MARGIN
        parts.append(
            f'<rect class="worker" x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}" rx="5"/>'
        )
        labels.append(f'<text class="worker" x="{x + 6:.0f}" y="{y + 14:.0f}">worker {port}</text>')
        for index, executor in enumerate(inner):
            row, column = divmod(index, _PER_ROW)
            centre_x = x + _MARGIN / 2 + (column + 0.5) * _CELL
            centre_y = y + _TITLE - 8 + (row + 0.5) * _CELL
            centres[executor.start_task] = (centre_x, centre_y, colours[executor.component])
        y += height + 8
    return "".join(parts), "".join(labels), centres


def _draw_executors(
    executors: Sequence[ExecutorSummary],
    centres: Mapping[int, tuple[float, float, str]],
) -> str:
    parts = []
    for executor in executors:
        if executor.start_task not in centres:
            continue
        x, y, colour = centres[executor.start_task]
        tasks = f"{executor.start_task}"
        if executor.end_task != executor.start_task:
            tasks += f"-{executor.end_task}"
        name = escape(short_name(executor.component))
        parts.append(
            f'<g><title>{name} [{tasks}]</title><circle cx="{x:.1f}" '
            f'cy="{y:.1f}" r="{_RADIUS}" fill="{colour}"/><text class="task" x="{x:.1f}" '
            f'y="{y + 4:.1f}">{tasks}</text></g>'
        )
    return "".join(parts)


def _draw_edges(
    executors: Sequence[ExecutorSummary],
    traffic: Flows,
    centres: Mapping[int, tuple[float, float, str]],
    heaviest: Flow,
) -> str:
    """Draw a pair of executors as one line, both directions summed; the heaviest on top."""
    by_task = {t: e for e in executors for t in range(e.start_task, e.end_task + 1)}
    pairs: dict[tuple[int, int], Flow] = {}
    for (source, target), flow in traffic.items():
        if source in by_task and target in by_task:
            ends = sorted((by_task[source].start_task, by_task[target].start_task))
            if ends[0] != ends[1]:
                pairs[ends[0], ends[1]] = pairs.get((ends[0], ends[1]), Flow()) + flow
    parts = []
    for (one, other), flow in sorted(pairs.items(), key=lambda item: _share(item[1], heaviest)):
        if one not in centres or other not in centres or flow.tuples <= 0:
            continue
        a, b = by_task[one], by_task[other]
        if a.host != b.host:
            kind = "between-nodes"
        else:
            kind = "between-workers" if a.port != b.port else "in-worker"
        width = 0.4 + 5.0 * math.sqrt(_share(flow, heaviest))
        (x1, y1, _), (x2, y2, _) = centres[one], centres[other]
        # Bent, so that executors in one row are not joined through those between them.
        bend_x = (x1 + x2) / 2 + _BEND * (y2 - y1)
        bend_y = (y1 + y2) / 2 - _BEND * (x2 - x1)
        parts.append(
            f'<path class="{kind}" d="M{x1:.1f} {y1:.1f}Q{bend_x:.1f} {bend_y:.1f} {x2:.1f} '
            f'{y2:.1f}" stroke-width="{width:.2f}"><title>{escape(short_name(a.component))} '
            f"[{one}] - {escape(short_name(b.component))} [{other}]: {flow.tuples:,.1f} tuples/s"
            f"{f', {flow.bytes:,.0f} bytes/s' if flow.bytes else ''}</title></path>"
        )
    return "".join(parts)


def _share(flow: Flow, heaviest: Flow) -> float:
    value, most = (flow.bytes, heaviest.bytes) if heaviest.bytes else (flow.tuples, heaviest.tuples)
    return min(value / most, 1.0) if most > 0 else 0.0
