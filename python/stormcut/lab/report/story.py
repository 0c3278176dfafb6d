"""What the demo saw: as a table, a page, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from stormcut.lab.experiment.story import Phase, Story
from stormcut.lab.report.picture import component_colours, draw_placement, short_name
from stormcut.lab.report.timeline import charts, clock, event_table, page
from stormcut.profile.flows import Flow
from stormcut.report.tables import Picture, Section, Table
from stormcut.report.tables import markdown as as_markdown
from stormcut.report.terminal import Grid

TITLE = "stormcut: the loop closes by itself"
TOLD = (
    "A topology was submitted under Storm's own scheduler, and its load rose in steps until it "
    "stalled. The controller (stormcut operate, mode automatic) ran and measured from the start, "
    "but was paused (stormcut pause): left alone it would have moved the topology at its first "
    "measurement, as less traffic pays at any load. Once the load had stalled it was resumed "
    "(stormcut resume), and got no input after that.",
    "Drift, in the list of events: what the controller measures differs from what its last profile "
    "says, by more than chance explains. Behind ± is what chance may make of a figure.",
)
CAVEAT = (
    "All nodes are processes on one machine and share its cores; a hop between them has no delay "
    "but what queues make. The topology passes padded tuples on and does no work: it shows what "
    "links do to a placement, not what an application would gain."
)
_CAPTION = "Tuples/s, their latency in ms, and the share of the bytes that crosses nodes"
_HEADER = ("", "from", "to", "offered", "acked", "mean", "p99", "crosses")


@dataclass(frozen=True)
class Made:
    """How a story was made: the controller's configuration, and settings in words."""

    config: str
    settings: Mapping[str, str]


def headline(story: Story) -> str:
    """Return the result in one sentence."""
    if story.why:
        return f"The story did not happen: {story.why}."
    before, after = story.phases[:2]
    gain = instead = ""
    if round(before.acked_per_s):
        gain = f" ({100 * (after.acked_per_s / before.acked_per_s - 1):+.0f} %)"
    if before.mean_ms is not None:
        instead = f" instead of {_ms(before.mean_ms)} ms"
    return (
        f"Of {after.offered_per_s:,.0f} tuples/s offered, {before.acked_per_s:,.0f} were "
        f"acknowledged under Storm's own scheduler and {after.acked_per_s:,.0f} after the "
        f"controller's move{gain}; a tuple took {_ms(after.mean_ms)} ms{instead}."
    )


def phase_table(story: Story) -> Table:
    """Return the measured windows."""
    return Table(_HEADER, tuple(_row(phase) for phase in story.phases), _CAPTION)


def _row(phase: Phase) -> tuple[str, ...]:
    return (
        phase.name,
        clock(phase.begin_s),
        clock(phase.end_s),
        f"{phase.offered_per_s:,.0f}",
        f"{phase.acked_per_s:,.0f}",
        _ms(phase.mean_ms),
        _ms(phase.p99_ms),
        "-" if phase.crossing is None else f"{100 * phase.crossing:.0f} %",
    )


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def table(story: Story) -> Grid:
    """Return the measured windows for a terminal."""
    first, *others = _HEADER
    shown = Grid(_CAPTION).name(first).figures(*(each.replace(" ", "\n") for each in others))
    for row in phase_table(story).rows:
        shown.row(*row)
    return shown


def html(story: Story, made: Made) -> str:
    """Return one self-contained HTML page."""
    return page(TITLE, headline(story), _sections(story, made, pictures=True))


def markdown(story: Story, made: Made) -> str:
    """Return the same without pictures, for a page of results."""
    text = as_markdown(_sections(story, made, pictures=False))
    return f"{headline(story)}\n\n{text}"


def as_json(story: Story) -> dict[str, object]:
    """Return what was seen for a machine."""
    (series,) = story.timeline.series
    return {
        "why": story.why,
        "phases": [_phase_json(phase) for phase in story.phases],
        "points": [asdict(point) for point in series.points],
        "events": [{**asdict(each), "kind": each.kind.value} for each in series.events],
    }


def _phase_json(phase: Phase) -> dict[str, object]:
    nodes = sorted({executor.host for executor in phase.executors})
    whole = {**vars(phase), "nodes": nodes, "crossing": phase.crossing}
    return {name: value for name, value in whole.items() if name not in ("executors", "traffic")}


def _sections(story: Story, made: Made, pictures: bool) -> Sequence[Section]:
    return (
        Section("What happened", 2, TOLD),
        Section(
            "Over time",
            2,
            tables=(event_table(story.timeline),),
            pictures=charts(story.timeline) if pictures else (),
        ),
        Section("Measured at the same offered load", 2, tables=(phase_table(story),)),
        *([_placements(story)] if pictures else []),
        Section("What this shows, and what not", 2, (CAVEAT,)),
        Section("How it was made", 2, points=tuple(made.settings.items())),
        Section(
            "The controller's configuration",
            2,
            ("All that it was told but for pause and resume:",),
            code=made.config,
        ),
    )


def _placements(story: Story) -> Section:
    every = [flow for phase in story.phases for flow in phase.traffic.values()]
    heaviest = Flow(
        max((flow.tuples for flow in every), default=0.0),
        max((flow.bytes for flow in every), default=0.0),
    )
    drawn = tuple(
        Picture(
            f"{phase.name} ({clock(phase.begin_s)})",
            draw_placement(story.hosts, phase.executors, phase.traffic, heaviest),
        )
        for phase in story.phases
    )
    colours = component_colours([each for phase in story.phases for each in phase.executors])
    names = ", ".join(sorted({short_name(name) for name in colours}))
    text = (
        f"Circles are executors of {names}, with their task numbers; lines are bytes/s as the "
        "controller had measured them last, orange between nodes, grey inside a worker. Point at "
        "a line or a circle to read what it is."
    )
    return Section("The placements", 2, (text,), pictures=drawn)
