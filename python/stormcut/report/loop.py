"""One turn of the loop, before and after a plan: as a table, a page and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from rich.table import Table

from stormcut.profile.measured import Measured
from stormcut.report.picture import PlacedExecutor, component_colours, draw_placement

#: Predicted and measured drop of traffic between nodes may differ by this share of the prediction.
AGREEMENT = 0.10

CAVEAT = (
    "All nodes of this cluster are processes on one machine: tuples 'between nodes' cross the "
    "loopback interface, which costs CPU but has no bandwidth limit and hardly any delay. This run "
    "shows that measured traffic between nodes falls as predicted, on a running topology, under "
    "real Storm daemons. It does not show the throughput that the plan would gain on separate "
    "machines: acked tuples follow the set rate of the source, and latencies are noisy where few "
    "cores carry all these processes."
)


@dataclass(frozen=True)
class Phase:
    """A measured window under one placement.

    ``traffic`` maps (source task, target task) to tuples/s.
    """

    label: str
    measured: Measured
    executors: tuple[PlacedExecutor, ...]
    traffic: Mapping[tuple[int, int], float]


@dataclass(frozen=True)
class Loop:
    """Two phases, and what the objective predicted between them.

    ``predicted_before`` and ``predicted_after`` are tuples/s between nodes, both computed from the
    profile of the first phase.
    """

    before: Phase
    after: Phase
    hosts: tuple[str, ...]
    predicted_before: float
    predicted_after: float
    workers_restarted: int
    reason: str
    settings: Mapping[str, str]

    @property
    def predicted_drop(self) -> float:
        """Share of the traffic between nodes that the plan was to save."""
        return _drop(self.predicted_before, self.predicted_after)

    @property
    def measured_drop(self) -> float:
        """Share of the traffic between nodes that it did save."""
        return _drop(
            self.before.measured.between_nodes_per_s, self.after.measured.between_nodes_per_s
        )

    @property
    def difference(self) -> float:
        """Difference of the two drops as a share of the predicted one."""
        if self.predicted_drop == 0:
            return 0.0 if self.measured_drop == 0 else float("inf")
        return abs(self.measured_drop - self.predicted_drop) / abs(self.predicted_drop)

    @property
    def agrees(self) -> bool:
        """Return whether prediction and measurement agree."""
        return self.difference <= AGREEMENT


def _drop(before: float, after: float) -> float:
    return (before - after) / before if before else 0.0


def rows(loop: Loop) -> list[tuple[str, str, str, str]]:
    """Return (what, before, after, change) in the order shown."""
    before, after = loop.before.measured, loop.after.measured
    return [
        _rate("tuples/s between nodes", before.between_nodes_per_s, after.between_nodes_per_s),
        _rate(
            "tuples/s between workers", before.between_workers_per_s, after.between_workers_per_s
        ),
        _rate("tuples/s in all", before.emitted_per_s, after.emitted_per_s),
        _rate("acked tuples per 10 s", before.acked_per_10_s, after.acked_per_10_s),
        _latency(before.complete_latency_ms, after.complete_latency_ms),
        ("failed tuples", f"{before.failed}", f"{after.failed}", ""),
        _rate("CPU of all executors (100 = one core)", before.cpu_percent, after.cpu_percent),
        ("nodes used", f"{before.nodes_used}", f"{after.nodes_used}", ""),
        ("workers used", f"{before.workers_used}", f"{after.workers_used}", ""),
        ("slots whose worker changed (restarts)", "", f"{loop.workers_restarted}", ""),
    ]


def _rate(name: str, before: float, after: float) -> tuple[str, str, str, str]:
    change = f"{100 * (after - before) / before + 0.0:+.1f} %" if before else ""
    return name, f"{before:,.0f}", f"{after:,.0f}", change


def _latency(before: float | None, after: float | None) -> tuple[str, str, str, str]:
    name = "complete latency, ms"
    shown = ["not sampled" if value is None else f"{value:,.1f}" for value in (before, after)]
    change = f"{100 * (after - before) / before + 0.0:+.1f} %" if before and after else ""
    return name, shown[0], shown[1], change


def headline(loop: Loop) -> str:
    """Return the result in one sentence."""
    before, after = loop.before.measured, loop.after.measured
    return (
        f"Traffic between nodes went from {before.between_nodes_per_s:,.0f} to "
        f"{after.between_nodes_per_s:,.0f} tuples/s ({-100 * loop.measured_drop:+.1f} %) on "
        f"{after.nodes_used} nodes instead of {before.nodes_used}."
    )


def agreement(loop: Loop) -> str:
    """Return what was predicted, what was measured, and how well they agree."""
    verdict = "agree" if loop.agrees else "do NOT agree"
    return (
        f"Predicted by the objective: {loop.predicted_before:,.0f} to {loop.predicted_after:,.0f} "
        f"tuples/s between nodes ({-100 * loop.predicted_drop:+.1f} %); measured: "
        f"{-100 * loop.measured_drop:+.1f} %. The two {verdict}: they differ by "
        f"{100 * loop.difference:.1f} % of the predicted drop (limit {100 * AGREEMENT:.0f} %)."
    )


def table(loop: Loop) -> Table:
    """Return the comparison for a terminal of at least 80 columns."""
    shown = Table(title="Before and after, as measured by the hook")
    shown.add_column("")
    for column in (loop.before.label, loop.after.label, "change"):
        shown.add_column(column, justify="right")
    for row in rows(loop):
        shown.add_row(*row)
    return shown


def page(loop: Loop) -> str:
    """Return one self-contained HTML page."""
    template = files("stormcut.report").joinpath("loop_page.html.j2").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    phases = (loop.before, loop.after)
    heaviest = max((max(phase.traffic.values(), default=0.0) for phase in phases), default=0.0)
    return environment.from_string(template).render(
        title="stormcut: one turn of the loop",
        lead="A topology measured under Storm's default scheduler, placed anew by its measured "
        "traffic while it ran, and measured again.",
        headline=headline(loop),
        header=("", loop.before.label, loop.after.label, "change"),
        rows=rows(loop),
        agreement=agreement(loop),
        colours=component_colours(loop.before.executors),
        pictures=[(phase.label, _picture(phase, loop.hosts, heaviest)) for phase in phases],
        reason=loop.reason,
        caveat=CAVEAT,
        settings=loop.settings,
    )


def _picture(phase: Phase, hosts: Sequence[str], heaviest: float) -> str:
    return draw_placement(hosts, phase.executors, phase.traffic, heaviest)


def markdown(loop: Loop) -> str:
    """Return the table as Markdown, for a page of results."""
    lines = [
        f"| | {loop.before.label} | {loop.after.label} | change |",
        "| --- | ---: | ---: | ---: |",
    ]
    lines += [f"| {' | '.join(row)} |" for row in rows(loop)]
    return "\n".join([*lines, "", agreement(loop), ""])


def as_json(loop: Loop) -> dict[str, object]:
    """Return the figures for a machine."""
    return {
        "before": asdict(loop.before.measured),
        "after": asdict(loop.after.measured),
        "workers_restarted": loop.workers_restarted,
        "predicted_between_nodes_per_s": [loop.predicted_before, loop.predicted_after],
        "predicted_drop": loop.predicted_drop,
        "measured_drop": loop.measured_drop,
        "agrees": loop.agrees,
        "reason": loop.reason,
        "settings": dict(loop.settings),
    }
