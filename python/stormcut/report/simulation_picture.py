"""One picture of a simulation over time: rates, latencies, tuples under way."""

from __future__ import annotations

from collections.abc import Sequence

from stormcut.report.figures import COLOURS, drawn, empty
from stormcut.simulator.changes import Change, describe
from stormcut.simulator.timeline import TimelineInterval


def draw_simulation(
    intervals: Sequence[TimelineInterval], changes: Sequence[Change], title: str, form: str
) -> bytes:
    """Return three panels over time, with a line at each change, as ``svg`` or ``png``."""
    figure = empty(9, 7)
    rates, times, under_way = figure.subplots(3, 1, sharex=True)
    ends = [each.end for each in intervals]
    for index, name in enumerate(dict.fromkeys(n for each in intervals for n in each.sources)):
        colour = COLOURS[index % len(COLOURS)]
        rates.plot(ends, [each.sources[name] for each in intervals], color=colour, label=name)
        ended = [each for each in intervals if name in each.latency]
        for kind, style in (("p50", "-"), ("p99", ":")):
            times.plot(
                [each.end for each in ended],
                [getattr(each.latency[name], kind) for each in ended],
                style,
                color=colour,
                label=f"{name}, {kind}",
            )
    under_way.plot(
        ends, [each.under_way for each in intervals], color="black", label="tuples under way"
    )
    under_way.plot(
        ends,
        [each.lost + each.failed for each in intervals],
        color=COLOURS[1],
        label="tuples lost and trees failed in the interval",
    )
    rates.set_ylabel("tuples/s emitted")
    times.set_ylabel("ms")
    times.set_yscale("log")
    under_way.set_ylabel("tuples, trees")
    under_way.set_xlabel("seconds")
    for axes in (rates, times, under_way):
        axes.set_ylim(bottom=None if axes is times else 0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="upper right", fontsize="small")
        for change in changes:
            axes.axvline(change.second, color="gray", linewidth=0.8, linestyle="--")
    # Many changes are a trace, whose words nobody could read.
    for change in changes if len(changes) <= len(COLOURS) else ():
        rates.annotate(
            describe(change),
            (change.second, 1.0),
            xycoords=("data", "axes fraction"),
            fontsize="small",
            rotation=20,
        )
    figure.suptitle(title, x=0.01, ha="left")
    return drawn(figure, form)
