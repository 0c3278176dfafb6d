"""What a bench measured: one Markdown page of tables, and one HTML page with pictures as well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from stormcut.lab.experiment.bench.cells import LINK_FACT, BenchRun
from stormcut.lab.experiment.bench.summary import ENOUGH_PAIRS
from stormcut.lab.experiment.bench.yardsticks import (
    MISSED,
    REACHED,
    THROUGHPUT,
    TOO_FEW,
    Published,
)
from stormcut.lab.report.bench_figures import OURS, BenchResults, between
from stormcut.lab.report.bench_goals import details, outcomes, overall
from stormcut.lab.report.bench_pictures import draw_dots, draw_overview, draw_scatter, look
from stormcut.lab.report.bench_tables import (
    RANGE,
    headline,
    predictions,
    ratios,
    repeated,
    resources,
    times,
)
from stormcut.placement.registry import BASELINE
from stormcut.report.tables import Picture, Section, Table
from stormcut.report.tables import markdown as as_markdown

TITLE = "stormcut: schedulers side by side"
LEAD = (
    "Every topology ran under every scheduler on the same cluster of containers, in alternating "
    "order; each repetition is one measured window per scheduler. Figures are medians over "
    "repetitions (lowest-highest); ratios pair the windows of one repetition. Windows whose rate "
    "did not settle are counted as unsteady and enter no figure."
)
CAVEATS = (
    (
        "One machine carries everything",
        "nodes, the services beside them and the measuring share its few cores, caches and memory "
        "bandwidth. Ratios between placements on one cluster mean something, absolute rates do "
        "not.",
    ),
    (
        "No network between machines",
        "nodes are joined by a bridge inside one kernel. Bandwidth is limited at each node's own "
        "end, but a hop has hardly any latency and passes no switch that others load: tuple times "
        "show queues and CPU, not distance.",
    ),
    (
        "CPU comes in slices",
        "a quota is spent within periods of 100 ms; a node that used its share up stands still for "
        "the rest of the period, as no real core does. That shapes tuple times up to a few hundred "
        "milliseconds wherever a quota binds.",
    ),
    (
        "Warm processes",
        "schedulers take turns by stopping and continuing worker processes, so no window pays for "
        "starting workers or compiling code. What a change of placement costs is not in these "
        "figures, and stopped workers keep their memory.",
    ),
    (
        "What it can show",
        "which placement keeps more tuples on their node, and how far that carries under stated "
        "limits, rates and payloads. It cannot show how large the gain is with others, or on "
        "machines of their own.",
    ),
)

RECEIVES_FREELY = (
    "NOT LIMITED: what a node receives. Before stormcut bench limited both ways, as a network card "
    "does, only what a node sends was limited. So a placement that gathers receivers on few nodes "
    "looks better here than it is, and one that spares the busiest receiver gains nothing by it."
)


def markdown(benches: Sequence[BenchResults]) -> str:
    """Return a page of tables, at most 100 columns wide; one bench for each setting."""
    return as_markdown(_sections(benches, pictures=False))


def page(benches: Sequence[BenchResults]) -> str:
    """Return one self-contained HTML page: the same tables, and pictures."""
    template = files("stormcut.lab.report").joinpath("bench_page.html.j2")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    schedulers = dict.fromkeys(name for bench in benches for name in bench.run.schedulers)
    return environment.from_string(template.read_text(encoding="utf-8")).render(
        title=TITLE,
        sections=_sections(benches, pictures=True),
        looks={name: look(name) for name in schedulers},
        ours=OURS,
        tone=_tone,
        below=RANGE,
    )


def _tone(text: str) -> str:
    """Return the class of a cell that holds a verdict."""
    if f"{MISSED} on " in text or text == MISSED:
        return "bad"
    return "good" if text == REACHED else ""


def _sections(benches: Sequence[BenchResults], pictures: bool) -> list[Section]:
    sections = [Section(TITLE, 1, (LEAD,))]
    for bench in benches:
        sections.append(_setting(bench, pictures))
        sections += _goals(bench)
        sections += [_topology(bench, topology, pictures) for topology in bench.run.topologies]
        sections += _circumstances(bench)
    sections.append(
        Section("What containers on one machine can and cannot show", 2, points=CAVEATS)
    )
    entries = dict.fromkeys(entry for bench in benches for entry in _concerning(bench))
    if entries:
        sections.append(_sources(entries))
    return sections


def _concerning(bench: BenchResults) -> Iterator[Published]:
    """Yield what is printed about a run's topologies and baselines."""
    run = bench.run
    for entry in bench.yardsticks.published:
        if entry.topology in run.topologies and entry.baseline in run.schedulers:
            yield entry


def _setting(bench: BenchResults, pictures: bool) -> Section:
    run = bench.run
    text = [run.summary, _progress(bench)]
    if _receives_freely(run):
        text.append(RECEIVES_FREELY)
    if run.refused:
        refused = "; ".join(f"{kind} ({why})" for kind, why in run.refused.items())
        text.append(f"NOT LIMITED: {refused}. The figures below were measured without that limit.")
    overview = (_overview(bench),) if pictures and bench.measurements else ()
    return Section(run.setting, 2, tuple(text), (headline(bench),), pictures=overview)


def _receives_freely(run: BenchRun) -> bool:
    """Return whether a run is from when only what a node sends could be limited, and was."""
    return LINK_FACT not in run.facts and "no limit of bandwidth" not in run.facts.get("limits", "")


def _overview(bench: BenchResults) -> Picture:
    names = bench.run.schedulers
    baseline = BASELINE if BASELINE in names else names[0]
    ratios = {
        topology: {
            name: ratio.spread
            for name in names
            if (ratio := bench.ratio(topology, name, baseline, THROUGHPUT))
        }
        for topology in bench.run.topologies
    }
    return Picture("All topologies", draw_overview(ratios, baseline))


def _progress(bench: BenchResults) -> str:
    """Return how much of the run is there."""
    run = bench.run
    refusals = sum(bool(placed.refusal) for placed in bench.placed)
    pairs = len(run.topologies) * len(run.schedulers)
    unsteady = sum(bool(each.unsteady) for each in bench.measurements)
    return (
        f"{len(bench.measurements)} of {(pairs - refusals) * run.repetitions} cells are measured "
        f"({len(run.topologies)} topologies, {len(run.schedulers)} schedulers, {run.repetitions} "
        f"repetitions; placements refused: {refusals}). Unsteady: {unsteady}."
    )


def _goals(bench: BenchResults) -> Iterator[Section]:
    results = outcomes(bench)
    rows = [(str(goal), overall(each)) for goal, each in results]
    table = Table(("goal", "verdict"), tuple(rows), words=2)
    points = tuple((str(goal), details(each)) for goal, each in results)
    note = f"{TOO_FEW.capitalize()}: below in each, but it takes {ENOUGH_PAIRS} to exclude chance."
    text = (note,) if any(TOO_FEW in verdict for _, verdict in rows) else ()
    yield Section(f"Goals, {bench.run.setting}", 3, text, (table,), points)


def _topology(bench: BenchResults, topology: str, pictures: bool) -> Section:
    run = bench.run
    measured = any(bench.steady(topology, scheduler) for scheduler in run.schedulers)
    title = f"{topology}, {run.setting}"
    left_out = tuple(_left_out(bench, topology))
    if not measured:
        return Section(title, 3, ("Not measured.",), points=left_out)
    shown = (ratios, times, resources, predictions, repeated)
    tables = (each(bench, topology) for each in shown)
    others = [bench.summary(topology, name).other_cores or 0.0 for name in run.schedulers]
    text = f"Everything else on the machine used at most {max(others):.2f} cores in any window."
    return Section(
        title,
        3,
        (text,),
        tables=tuple(table for table in tables if table.rows),
        points=left_out,
        pictures=_pictures(bench, topology) if pictures else (),
    )


def _left_out(bench: BenchResults, topology: str) -> Iterator[tuple[str, str]]:
    """Yield what enters no figure, and why."""
    for placed in bench.placed:
        if placed.topology == topology and placed.refusal:
            yield f"{placed.scheduler} placed nothing", placed.refusal
    for start in bench.starts:
        if start.topology == topology and start.failure:
            yield f"{start.scheduler} did not start", start.failure
    for each in sorted(bench.measurements, key=lambda each: each.cell):
        if each.cell.topology == topology and each.unsteady:
            yield f"{each.cell.scheduler}, repetition {each.cell.repetition}", each.unsteady


def _pictures(bench: BenchResults, topology: str) -> tuple[Picture, ...]:
    windows = {name: bench.steady(topology, name) for name in bench.run.schedulers}
    rates = {name: [w.tuples_per_10s for w in measured] for name, measured in windows.items()}
    delays = {
        name: [w.mean_ms for w in measured if w.mean_ms is not None]
        for name, measured in windows.items()
    }
    traffic = {
        name: [(w.sent_mbit_s, w.tuples_per_10s) for w in measured]
        for name, measured in windows.items()
    }
    return (
        Picture("Throughput", draw_dots(rates, "tuples per 10 s")),
        Picture("Time of a tuple (TPT)", draw_dots(delays, "mean, ms")),
        Picture(
            "Traffic and throughput",
            draw_scatter(traffic, "sent by all nodes, Mbit/s", "tuples per 10 s"),
        ),
    )


def _circumstances(bench: BenchResults) -> Iterator[Section]:
    run = bench.run
    refused = tuple((f"NOT LIMITED, {kind}", why) for kind, why in run.refused.items())
    options = tuple(
        (topology, ", ".join(f"{key}={value}" for key, value in given.items()) or "no options")
        for topology, given in run.options.items()
    )
    yield Section(f"How it was made, {run.setting}", 3, points=(*run.facts.items(), *refused))
    yield Section(f"Options of the topologies, {run.setting}", 3, points=options)


def _sources(entries: Iterable[Published]) -> Section:
    """Return what was printed; figures given for several topologies at once only once."""
    alike: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        term = f"{entry.scheduler} against {entry.baseline}"
        ratio = between(entry.least, entry.most)
        text = f"{entry.metric} {entry.printed}, {ratio} times; {entry.setting}; {entry.place}"
        alike.setdefault((term, text), []).append(entry.topology)
    points = tuple((f"{', '.join(on)}: {term}", text) for (term, text), on in alike.items())
    text = (
        "On the papers' own clusters, which differ from this one in everything but the idea; "
        "averages without spread."
    )
    return Section("What the papers print", 2, (text,), points=points)
