"""The hour's tables and page, made of the runs that are there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks.cluster.hour_figures import COST_S, SETTLED_S, shortened, unseen_share
from stormcut.adapters.files.json_document import write_text
from stormcut.lab.experiment.timeline import Event, Kind, Point, Series, Timeline
from stormcut.lab.report.timeline import charts, clock, event_table, page
from stormcut.report.tables import Picture, Section, Table, markdown

TITLE = "The controller under a load that changes"
#: The policies that the page shows beside each other, first.
PAIR = ("never", "automatic")
WORDS = (
    "Two topologies share a cluster whose links are narrow. Storm's own scheduler places them, "
    "then the controller (stormcut operate, mode automatic) is let go, with a policy of the first "
    "column and the shipped defaults otherwise: automatic is all as shipped, never leaves all "
    "where Storm has put it. StroMAX, OLS and Bframework decide by their papers' own triggers and "
    "rules, periodic every five minutes; all are held by the shipped cool-down and restarts per "
    "hour.",
    "Acked: tuples whose whole tree was acknowledged, of those offered. p50, p99: of their "
    "latency, from source to last acknowledgement, over the run. Served: the share of the time, in "
    "windows of 15 s, in which at least 95 % of what was offered was acknowledged. Moves: plans "
    "that changed where running topologies run. Restarts: workers that were then not where or what "
    f"they had been before. Cost: tuples offered and not acknowledged within {COST_S:.0f} s of "
    "moves, whether they were lost by the move or by what it was meant to mend. Back: plans that "
    "took another back.",
)
STEADY = (
    "The rate of each second differs by up to 30 %, with stalls of three seconds, and nothing else "
    "changes: what moves after the first five minutes moves for nothing."
)
BEGUN = (
    "Runs of several lengths, cut to the shortest: so long the load was the same. p50 and p99 are "
    "here the median of the phases'."
)
CAVEAT = (
    "All nodes share this machine's cores, and CPU is not limited: a JVM that starts on a third of "
    "a core takes minutes. The topologies pass padded tuples on and do no work: this shows what "
    "links do to a placement, and when a controller acts, not what an application would gain. "
    "Tuples in flight when the worker of a source ends are in no latency; they lack in what is "
    "acked."
)
#: From this share of the time on a run was disturbed.
DISTURBED = 0.01
PICTURE = "![Throughput and latency over time under two policies](hour.png)"
PICTURE_MADE = """
Every sample and event of each run, and the controller's words, are in `benchmarks/data/hour.zip`.
Without `--measure` this page and `hour.html`, with the pictures of all runs, are made of these; the
picture is the upper part of that page, by `chromium --headless --screenshot`."""
Run = Mapping[str, Any]


def write_pages(folder: Path, runs: Sequence[Run]) -> None:
    """Write README.md, and hour.html with all pictures."""
    if not runs:
        return
    tables, settings = list(_tables(runs)), list(_settings(runs))
    told = [Section("What was compared", 2, WORDS), *tables, *_pictures(runs), *settings]
    made = Section("How it was made", 2, tuple(line.replace("`", "") for line in _made(runs)))
    write_text(folder / "hour.html", page(TITLE, headline(runs), [*told, made]))
    begin = markdown([Section(TITLE, 1, (headline(runs),))])
    rest = markdown([Section("What was compared", 2, WORDS), *tables, *_acts(runs), *settings])
    end = "\n".join(("## How it was made", *_made(runs), PICTURE_MADE))
    write_text(folder / "README.md", f"{begin}\n{PICTURE}\n\n{rest}\n{end}\n")


def headline(runs: Sequence[Run]) -> str:
    """Return the result in one sentence."""
    shown = _pair(runs)
    cut = shown[0]["minutes"] < max(run["minutes"] for run in runs)
    said = (
        f"{run['policy']}: {_percent(run['acked_share'])} of the tuples acked, "
        f"{_percent(run['served_share'])} of the time served, {len(run['moves'])} moves"
        for run in shown
    )
    return (f"The first {shown[0]['minutes']} minutes. " if cut else "") + "; ".join(said) + "."


def figures_table(runs: Sequence[Run]) -> Table:
    """Return a row for each policy, the mean of its runs."""
    steady = runs[0]["load"] == "steady"
    # A table is not wider than ten columns.
    header = ["policy", "runs", "acked %", *([] if steady else ["p50 ms"]), "p99 ms", "served %"]
    header += ["moves", *(["after 5 min"] if steady else [])]
    rows = []
    for policy, own in _by(runs, "policy"):
        late = mean(_late(run) for run in own)
        rows.append(
            (
                policy,
                str(len(own)),
                _spread([100 * run["acked_share"] for run in own]),
                *([] if steady else [_ms(median(run["p50_ms"] or 0 for run in own))]),
                _ms(median(run["p99_ms"] or 0 for run in own)),
                f"{100 * mean(run['served_share'] for run in own):.0f}",
                f"{mean(len(run['moves']) for run in own):g}",
                *([f"{late:g}"] if steady else []),
                f"{mean(run['workers_restarted'] for run in own):g}",
                f"{mean(run['taken_back'] for run in own):g}",
                f"{mean(run['cost_tuples'] for run in own):,.0f}",
            )
        )
    return Table((*header, "restarts", "back", "cost"), tuple(rows))


def phase_table(runs: Sequence[Run]) -> Table:
    """Return a row for each policy, a column for each phase of the load: acked %, median p99."""
    names = list(dict.fromkeys(phase["name"] for run in runs for phase in run["phases"]))
    rows = []
    for policy, own in _by(runs, "policy"):
        cells = []
        for name in names:
            found = [p for run in own for p in run["phases"] if p["name"] == name]
            share = sum(p["acked"] for p in found) / max(sum(p["offered"] for p in found), 1e-9)
            slow = [p["p99_ms"] for p in found if p["p99_ms"]]
            cells.append(f"{100 * share:.0f}, {_ms(median(slow)) if slow else '-'}")
        rows.append((policy, *cells))
    return Table(
        ("policy", *names), tuple(rows), "Acked % and p99 in ms (median over the cycles), by phase"
    )


def answer_table(runs: Sequence[Run]) -> Table:
    """Return after how many seconds each policy's first plan came, of every shift."""
    rows = []
    for policy, own in _by(runs, "policy"):
        told = (
            f"{clock(at)}: {'-' if after is None else f'{after:.0f}'}"
            for run in own
            for at, after in run["answers"]
        )
        rows.append((policy, ", ".join(told) or "-"))
    caption = "Seconds from each shift of the keys to the next plan that moved something"
    return Table(("policy", "shift: seconds"), tuple(rows), caption, words=2)


def _late(run: Run) -> int:
    return sum(move["at_s"] > SETTLED_S for move in run["moves"])


def _tables(runs: Sequence[Run]) -> Iterable[Section]:
    for load, same in _by(runs, "load"):
        lengths = _by(same, "minutes")
        if len(lengths) > 1:
            minutes = lengths[0][0]
            begun = [shortened(run, minutes) for run in same]
            title = f"The {load} load, the first {minutes} minutes of all runs"
            yield Section(title, 2, (BEGUN,), tables=_compared(begun))
        for minutes, own in lengths if len(lengths) == 1 else lengths[1:]:
            title = f"The {load} load, {minutes} minutes"
            yield Section(title, 2, (STEADY,) * (load == "steady"), tables=_compared(own))


def _compared(runs: Sequence[Run]) -> tuple[Table, ...]:
    if runs[0]["load"] == "steady":
        return (figures_table(runs),)
    return figures_table(runs), phase_table(runs), answer_table(runs)


def _settings(runs: Sequence[Run]) -> Iterable[Section]:
    yield Section("What this shows, and what not", 2, (CAVEAT, *_disturbed(runs)))
    for load, own in _by(runs, "load"):
        yield Section(f"How the {load} load was run", 2, points=tuple(own[0]["settings"].items()))


def _acts(runs: Sequence[Run]) -> Iterable[Section]:
    """Yield what was done in the run of what is shipped."""
    run = _longest(runs, PAIR[-1]) or runs[0]
    timeline = Timeline((replace(_series(run), events=_events(run)),))
    title = f"What happened under {run['policy']} ({run['load']} load, {run['minutes']} minutes)"
    yield Section(title, 2, (f"The controller noticed {_noticed(run)}.",), (event_table(timeline),))


def _made(runs: Sequence[Run]) -> list[str]:
    """Return how runs were made, each way once."""
    return list(dict.fromkeys(f"\n{run['made_by']}" for run in runs))


def _disturbed(runs: Sequence[Run]) -> Iterable[str]:
    """Yield a word about runs beside which others used the machine."""
    shares = [(run, unseen_share(_series(run).points)) for run in runs]
    told = [
        f"{run['policy']} ({run['load']}, {run['minutes']} minutes) {_percent(share)}"
        for run, share in shares
        if share > DISTURBED
    ]
    if told:
        yield (
            "Others used this machine meanwhile, so that the bench itself could not look for this "
            f"share of the time: {', '.join(told)}. Such runs should be made again."
        )


def _pictures(runs: Sequence[Run]) -> Iterable[Section]:
    for load, same in _by(runs, "load"):
        pair = _pair(same)
        if len(pair) > 1:
            both = Timeline(tuple(replace(_series(run), events=_moves(run)) for run in pair))
            title = f"{' and '.join(PAIR)} ({load} load, {pair[0]['minutes']} min)"
            yield Section(title, 2, pictures=charts(both))
        for run in same:
            timeline = Timeline((replace(_series(run), events=_events(run)),))
            yield Section(
                f"{run['policy']} ({load} load, {run['minutes']} minutes)",
                2,
                (f"The controller noticed {_noticed(run)}.",),
                (event_table(timeline),),
                pictures=_captioned(charts(timeline), run["policy"]),
            )


def _captioned(pictures: Iterable[Picture], policy: str) -> tuple[Picture, ...]:
    return tuple(Picture(f"{policy}: {each.caption}", each.svg) for each in pictures)


def _pair(runs: Sequence[Run]) -> list[Run]:
    """Return the longest run of each of the `PAIR`, cut to the shorter; else any run."""
    found = [run for policy in PAIR if (run := _longest(runs, policy)) is not None]
    shortest = min((run["minutes"] for run in found), default=0)
    cut = [run if run["minutes"] == shortest else shortened(run, shortest) for run in found]
    return cut or list(runs[:1])


def _longest(runs: Sequence[Run], policy: str) -> Run | None:
    """Return the longest run of a policy, of the changing load if there is any."""
    first = min(run["load"] for run in runs)
    own = [run for run in runs if run["policy"] == policy and run["load"] == first]
    return max(own, key=lambda run: run["minutes"], default=None)


def _series(run: Run) -> Series:
    return Series(run["policy"], tuple(Point(*values) for values in run["points"]))


def _events(run: Run) -> tuple[Event, ...]:
    events = (Event(each["at_s"], Kind(each["kind"]), each["text"]) for each in run["events"])
    return tuple(each for each in events if each.kind is not Kind.DRIFT)


def _moves(run: Run) -> tuple[Event, ...]:
    """Return what is told of a run beside others: the shifts once, with the last run's moves."""
    shown = (Kind.MOVE,) if run["policy"] == PAIR[0] else (Kind.MOVE, Kind.CHANGE)
    return tuple(each for each in _events(run) if each.kind in shown)


def _noticed(run: Run) -> str:
    drifts = [each for each in run["events"] if each["kind"] == Kind.DRIFT.value]
    at = ", ".join(clock(each["at_s"]) for each in drifts[:20])
    more = f" and {len(drifts) - 20} more" if len(drifts) > 20 else ""
    return f"{len(drifts)} drifts{' at ' if drifts else ''}{at}{more}"


def _by(runs: Iterable[Run], *keys: str) -> list[tuple[Any, list[Run]]]:
    def of(run: Run) -> Any:
        return tuple(run[key] for key in keys) if len(keys) > 1 else run[keys[0]]

    return [(key, list(own)) for key, own in groupby(sorted(runs, key=of), of)]


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _spread(values: Sequence[float]) -> str:
    if len(values) == 1:
        return f"{values[0]:.1f}"
    return f"{mean(values):.1f} ({min(values):.1f}-{max(values):.1f})"


def _ms(value: float) -> str:
    return f"{value:,.0f}"
