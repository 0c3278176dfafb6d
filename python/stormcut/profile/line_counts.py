"""Counts of the lines of all logs, and what to do where none can be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import accumulate

from stormcut.model.errors import InvalidInput
from stormcut.profile.lines import LineSummary
from stormcut.profile.metric_lines import EXAMPLES, HOOK_METRIC, LineKind, Lines

#: Most of a line that is repeated in a message.
SHOWN = 60

LinesOf = Mapping[str, Lines]


def count_kinds(lines: LinesOf) -> Counter[LineKind]:
    """Return how many lines of each kind there are in all topologies' logs."""
    kinds: Counter[LineKind] = Counter()
    for each in lines.values():
        kinds.update(each.kinds)
    return kinds


def count_interval_lines(kinds: Mapping[LineKind, int]) -> dict[int, int]:
    """Return how many lines of the hook are of an interval of a task, by its seconds."""
    seconds: Counter[int] = Counter()
    for kind, count in kinds.items():
        if kind.seconds is not None and not kind.system:
            seconds[kind.seconds] += count
    return dict(seconds)


def find_usual_interval_s(kinds: Mapping[LineKind, int]) -> int:
    """Return the median length of the hook's intervals in whole seconds, at least 1."""
    ordered = sorted(count_interval_lines(kinds).items())
    before = accumulate(count for _, count in ordered)
    half = sum(count for _, count in ordered) / 2
    return max(1, next(s for (s, _), seen in zip(ordered, before, strict=True) if seen >= half))


def summarise_lines(lines: LinesOf, files: int) -> LineSummary:
    """Return how the lines of some files were used, none repeated.

    Raises
    ------
    InvalidInput
        None of them is of an interval of a task, or of another metric.
    """
    kinds = count_kinds(lines)
    unused: Counter[str] = Counter()
    for kind, count in kinds.items():
        if kind.problem is not None:
            unused[kind.problem] += count
    examples = [line for topology in sorted(lines) for line in lines[topology].unused]
    summary = LineSummary(
        files=files,
        read=sum(kinds.values()),
        hook=sum(count for kind, count in kinds.items() if kind.metric == HOOK_METRIC),
        metrics=sum(n for kind, n in kinds.items() if kind.metric not in (None, HOOK_METRIC)),
        repeated=0,
        unused=dict(unused),
        examples=tuple(examples[:EXAMPLES]),
    )
    if not count_interval_lines(kinds) and not summary.metrics:
        raise _no_hook(summary, ", ".join(lines))
    return summary


def _no_hook(lines: LineSummary, where: str) -> InvalidInput:
    if lines.read == 0:
        return InvalidInput("the metrics logs are empty; wait for the first interval", where)
    unused = sum(lines.unused.values())
    if lines.examples and unused == lines.read:
        example = lines.examples[0]
        what = f"none of {lines.read} lines is understood, such as: {example.line[:SHOWN]!r}"
        return InvalidInput(f"{what}: {example.problem}", where)
    seen = f"{lines.read} lines, none of them the hook's"
    if lines.examples:
        example = lines.examples[0]
        seen += f" ({unused} unused, such as: {example.problem})"
    what = 'set topology.auto.task.hooks: ["io.stormcut.StormcutHook"] and submit again'
    return InvalidInput(f"{seen}; {what}", where)
