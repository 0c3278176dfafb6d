"""One turn of the loop, before and after a plan: as a table, a page and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from importlib.resources import files

from jinja2 import Environment, StrictUndefined
from rich.table import Table

from stormcut.application.experiment.loop import AGREEMENT, Loop, Phase
from stormcut.profile.flows import Flow, total
from stormcut.report.picture import component_colours, draw_placement, short_name

CAVEAT = (
    "All nodes of this cluster are processes on one machine: tuples 'between nodes' cross the "
    "loopback interface, which costs CPU but has no bandwidth limit and hardly any delay. This run "
    "shows that measured traffic between nodes falls as predicted, on a running topology, under "
    "real Storm daemons. It does not show the throughput that the plan would gain on separate "
    "machines: acked tuples follow the set rate of the source, and latencies are noisy where few "
    "cores carry all these processes."
)


def rows(loop: Loop) -> list[tuple[str, str, str, str]]:
    """Return (what, before, after, change) in the order shown."""
    before, after = loop.before.measured, loop.after.measured
    nodes = loop.before.between_nodes, loop.after.between_nodes
    workers = loop.before.between_workers, loop.after.between_workers
    sent = total(loop.before.traffic), total(loop.after.traffic)
    sizes = [_rate("bytes/s between nodes", nodes[0].bytes, nodes[1].bytes)]
    return [
        *(sizes if sent[0].bytes else []),
        _rate("tuples/s between nodes", nodes[0].tuples, nodes[1].tuples),
        _rate("tuples/s between workers", workers[0].tuples, workers[1].tuples),
        _rate("tuples/s in all", sent[0].tuples, sent[1].tuples),
        _rate("acked tuples per 10 s", before.acked_per_10_s, after.acked_per_10_s),
        _latency(before.complete_latency_ms, after.complete_latency_ms),
        ("failed tuples", f"{before.failed}", f"{after.failed}", ""),
        _rate("CPU of all executors (100 = one core)", before.cpu_percent, after.cpu_percent),
        ("nodes used", f"{loop.before.nodes_used}", f"{loop.after.nodes_used}", ""),
        ("workers used", f"{loop.before.workers_used}", f"{loop.after.workers_used}", ""),
        ("slots where a worker ended or started", "", f"{loop.workers_restarted}", ""),
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
    before, after = loop.before.between_nodes, loop.after.between_nodes
    parts = [_change(before.tuples, after.tuples, "tuples/s")]
    if before.bytes:
        parts.insert(0, _change(before.bytes, after.bytes, "bytes/s"))
    return (
        f"Between nodes travelled {' and '.join(parts)}, on {loop.after.nodes_used} nodes instead "
        f"of {loop.before.nodes_used}."
    )


def _change(before: float, after: float, unit: str) -> str:
    share = f" ({100 * (after - before) / before + 0.0:+.1f} %)" if before else ""
    return f"{after:,.0f} {unit} instead of {before:,.0f}{share}"


def agreement(loop: Loop) -> str:
    """Return what was predicted, what was measured, and how well they agree."""
    verdict = "agree" if loop.agrees else "do NOT agree"
    worst = max(drop.difference for drop in loop.drops)
    predicted = " and ".join(f"{-100 * d.predicted + 0.0:+.1f} % {d.unit}" for d in loop.drops)
    measured = " and ".join(f"{-100 * d.measured + 0.0:+.1f} %" for d in loop.drops)
    return (
        f"Predicted from the first window: {predicted} between nodes, of all that is sent; "
        f"measured: {measured}. The two {verdict}: they differ by {100 * worst:.1f} % of the "
        f"predicted drop (limit {100 * AGREEMENT:.0f} %)."
    )


def predictions(loop: Loop) -> list[tuple[str, str, str, str]]:
    """Return (unit, before, after as predicted, after as measured), what crosses nodes in each."""
    now, then, found = loop.before.between_nodes, loop.predicted, loop.after.between_nodes
    tuples = _figures("tuples/s", now.tuples, then.tuples, found.tuples)
    sizes = _figures("bytes/s", now.bytes, then.bytes, found.bytes)
    return [sizes, tuples] if now.bytes else [tuples]


def _figures(unit: str, now: float, then: float, found: float) -> tuple[str, str, str, str]:
    return unit, f"{now:,.0f}", f"{then:,.0f}", f"{found:,.0f}"


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
    every = [flow for phase in phases for flow in phase.traffic.values()]
    heaviest = Flow(
        max((flow.tuples for flow in every), default=0.0),
        max((flow.bytes for flow in every), default=0.0),
    )
    return environment.from_string(template).render(
        title="stormcut: one turn of the loop",
        lead="A topology measured under Storm's default scheduler, placed anew by its measured "
        "traffic while it ran, and measured again.",
        # A number and its % stay together on a phone.
        headline=headline(loop).replace(" %", "\N{NO-BREAK SPACE}%"),
        header=("", loop.before.label, loop.after.label, "change"),
        rows=rows(loop),
        agreement=agreement(loop),
        predictions=predictions(loop),
        colours={
            short_name(name): colour
            for name, colour in component_colours(loop.before.executors).items()
        },
        widths="bytes/s" if heaviest.bytes else "tuples/s",
        pictures=[(phase.label, _picture(phase, loop.hosts, heaviest)) for phase in phases],
        reason=loop.reason,
        caveat=CAVEAT,
        settings=loop.settings,
    )


def _picture(phase: Phase, hosts: Sequence[str], heaviest: Flow) -> str:
    return draw_placement(hosts, phase.executors, phase.traffic, heaviest)


def markdown(loop: Loop) -> str:
    """Return the tables as Markdown, for a page of results."""
    header = ("", loop.before.label, loop.after.label, "change")
    between_nodes = ("between nodes", "before", "after, predicted", "after, measured")
    tables = [*_lines(header, rows(loop)), "", *_lines(between_nodes, predictions(loop))]
    made = [f"- {key}: {value}" for key, value in loop.settings.items()]
    reason = f"The brain's reason: {loop.reason}."
    text = [headline(loop), "", *tables, "", agreement(loop), "", reason, "", *made]
    return "\n".join([*text, ""])


def _lines(header: Sequence[str], content: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return [f"| {' | '.join(row)} |" for row in (header, rule, *content)]


def as_json(loop: Loop) -> dict[str, object]:
    """Return the figures for a machine."""
    return {
        "before": _phase_json(loop.before),
        "after": _phase_json(loop.after),
        "workers_restarted": loop.workers_restarted,
        "predicted_between_nodes_per_s": asdict(loop.predicted),
        "drops": [asdict(drop) for drop in loop.drops],
        "agrees": loop.agrees,
        "reason": loop.reason,
        "settings": dict(loop.settings),
    }


def _phase_json(phase: Phase) -> dict[str, object]:
    """Return a phase's figures; those of places follow from the executors as Nimbus shows them."""
    return {
        **asdict(phase.measured),
        "nodes_used": phase.nodes_used,
        "workers_used": phase.workers_used,
        "between_nodes_per_s": asdict(phase.between_nodes),
        "between_workers_per_s": asdict(phase.between_workers),
        "executors": [asdict(executor) for executor in phase.executors],
    }
