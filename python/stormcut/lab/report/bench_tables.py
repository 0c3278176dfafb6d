"""The tables of a bench."""

from __future__ import annotations

from collections.abc import Sequence

from stormcut.lab.experiment.bench.summary import Spread
from stormcut.lab.experiment.bench.yardsticks import THROUGHPUT, Published
from stormcut.lab.report.bench_figures import (
    BenchResults,
    absent,
    amount,
    between,
    median,
    share,
    spread_out,
)
from stormcut.placement.registry import BASELINE
from stormcut.report.tables import Table

#: Rows of the headline that belong to the one above.
RANGE = ("lowest", "highest")


def headline(bench: BenchResults) -> Table:
    """Return throughput by topology and scheduler: median, lowest and highest."""
    rows = []
    for topology in bench.run.topologies:
        summaries = [bench.summary(topology, name) for name in bench.run.schedulers]
        if not any(each.used for each in summaries):
            rows.append((f"{topology}: not measured", *("-" for _ in summaries)))
            continue
        spreads = [each.tuples_per_10s for each in summaries]
        rows.append((topology, *map(median, spreads)))
        rows += [(end, *(_end(each, end) for each in spreads)) for end in RANGE]
    caption = (
        "Tuples per 10 s, median, lowest and highest of the windows; -: not measured, refused or "
        "unsteady, as said at the topology."
    )
    return Table(("topology", *bench.run.schedulers), tuple(rows), caption)


def _end(spread: Spread | None, which: str) -> str:
    return "" if spread is None else amount(getattr(spread, which))


def ratios(bench: BenchResults, topology: str) -> Table:
    """Return our throughput over every other scheduler's, and the papers' over the same."""
    header = (
        "scheduler",
        "tuples/10 s",
        *(f"{ours} / it" for ours in bench.ours),
        "pairs",
        "papers / it",
    )
    rows = []
    for name in bench.run.schedulers:
        summary = bench.summary(topology, name)
        columns = [
            bench.ratio(topology, ours, name, THROUGHPUT) if ours != name else None
            for ours in bench.ours
        ]
        rows.append(
            (
                name,
                spread_out(summary.tuples_per_10s) if summary.used else absent(summary),
                *(spread_out(each.spread) if each else "-" for each in columns),
                str(max((each.pairs for each in columns if each), default="-")),
                _papers(bench.published(topology, name)),
            )
        )
    return Table(header, tuple(rows))


def _papers(entries: Sequence[Published]) -> str:
    """Return the papers' ratios of throughput, one span a scheduler."""
    spans: dict[str, list[float]] = {}
    for entry in entries:
        if entry.metric == THROUGHPUT:
            spans.setdefault(entry.scheduler, []).extend((entry.least, entry.most))
    ratios = (
        f"{name.removesuffix('-scheduler')} {between(min(span), max(span))}"
        for name, span in spans.items()
    )
    return ", ".join(ratios) or "-"


def times(bench: BenchResults, topology: str) -> Table:
    """Return tuple times as medians of windows, and what spoilt windows and tuples."""
    header = ("scheduler", "TPT ms", "p50", "p95", "p99", "unsteady", "replayed")
    caption = "Medians of windows. TPT: mean time of a tuple, beside it percentiles."
    rows = tuple(_times(bench, topology, name) for name in bench.run.schedulers)
    return Table(header, rows, caption)


def _times(bench: BenchResults, topology: str, scheduler: str) -> tuple[str, ...]:
    summary = bench.summary(topology, scheduler)
    windows = summary.used + summary.unsteady
    return (
        scheduler,
        *map(median, (summary.mean_ms, summary.p50_ms, summary.p95_ms, summary.p99_ms)),
        f"{summary.unsteady} of {windows}" if windows else "-",
        f"{summary.replayed:,}" if summary.used else "-",
    )


def resources(bench: BenchResults, topology: str) -> Table:
    """Return traffic, CPU, and what stayed on its node or arrived at all."""
    header = (
        *("scheduler", "Mbit/s", "cores", "fullest node", "throttled", "kept", "carried"),
        "nodes",
    )
    caption = (
        "Medians of windows. Mbit/s: what all nodes sent; cores: CPU of all nodes, and of the "
        "busiest one; throttled: CPU periods in which a node had used up its quota, where most; "
        "kept: tuples that stay on their node, by the profile / as measured; carried: of the "
        "tuples sent to bolts, those executed. Below 100 %, queues grew, which acked tuples do not "
        "show."
    )
    rows = tuple(_resources(bench, topology, name) for name in bench.run.schedulers)
    return Table(header, rows, caption)


def _resources(bench: BenchResults, topology: str, scheduler: str) -> tuple[str, ...]:
    summary, nodes = bench.summary(topology, scheduler), bench.nodes(topology, scheduler)
    remote = summary.predicted_remote
    return (
        scheduler,
        *map(median, (summary.sent_mbit_s, summary.cores, summary.fullest)),
        f"{share(summary.throttled.median if summary.throttled else None)} %",
        f"{share(None if remote is None else 1 - remote)} / {share(summary.kept)} %",
        f"{share(summary.carried)} %",
        "-" if nodes is None else str(nodes),
    )


def predictions(bench: BenchResults, topology: str) -> Table:
    """Return the cost model's throughput over the baseline's beside what was measured."""
    if BASELINE not in bench.run.schedulers:
        return Table((), ())
    base = bench.summary(topology, BASELINE).reachable
    header = ("scheduler", f"predicted / {BASELINE}", f"measured / {BASELINE}", "error")
    caption = (
        "Throughput by the cost model, from one profile taken under the baseline, with the costs "
        "that are shipped; error: predicted over measured, less 1."
    )
    rows = []
    for name in bench.run.schedulers:
        reachable = bench.summary(topology, name).reachable
        if name == BASELINE or not reachable or not base:
            continue
        here, predicted = bench.ratio(topology, name, BASELINE, THROUGHPUT), reachable / base
        rows.append(
            (
                name,
                f"{predicted:.2f}",
                spread_out(here.spread) if here else "not measured",
                f"{100 * (predicted / here.spread.median - 1):+.0f} %" if here else "-",
            )
        )
    return Table(header, tuple(rows), caption)


def repeated(bench: BenchResults, topology: str) -> Table:
    """Return the papers' own comparisons with what the same two schedulers did here."""
    header = ("the papers' comparisons", "of", "here", "paper", "place")
    schedulers = bench.run.schedulers
    rows = []
    for entry in bench.yardsticks.published:
        if entry.topology != topology or not {entry.scheduler, entry.baseline} <= set(schedulers):
            continue
        here = bench.ratio(topology, entry.scheduler, entry.baseline, entry.metric)
        rows.append(
            (
                f"{entry.scheduler} / {entry.baseline}",
                entry.metric,
                spread_out(here.spread) if here else "not measured",
                between(entry.least, entry.most),
                entry.place,
            )
        )
    return Table(header, tuple(rows))
