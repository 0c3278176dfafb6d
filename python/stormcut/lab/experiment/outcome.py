"""What a drained run of a benchmark topology did, and whether its answer is right."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from stormcut.lab.experiment.definition import Definition
from stormcut.lab.experiment.latency import percentile
from stormcut.lab.experiment.loss import (
    Passage,
    Report,
    SourceTotals,
    is_whole,
    passages,
    sent_ordinals,
    source_totals,
)
from stormcut.lab.experiment.ports import Catalogue, Progress


@dataclass(frozen=True)
class RunOutcome:
    """What a drained run did; `answer` is in words, `wrong` if it differs from Spark's."""

    topology: str
    tasks: int
    seconds: float
    totals: SourceTotals
    passages: tuple[Passage, ...]
    dropped: tuple[tuple[str, str, int], ...]
    latency: str
    whole: bool
    answer: str
    wrong: bool

    @property
    def holds(self) -> bool:
        """Whether nothing was lost and no answer is wrong."""
        return self.whole and not self.wrong


def outcome_of(
    definition: Definition,
    given: Mapping[str, Any],
    reports: list[Report],
    spouts: Mapping[str, int],
    seconds: float,
    catalogue: Catalogue,
    progress: Progress,
) -> RunOutcome:
    """Return what a drained topology did, by its tasks' reports, and whether it was right."""
    totals = source_totals(reports, spouts)
    crossed = passages(reports, definition.hops)
    answer, wrong = _check(definition, given, reports, totals, catalogue, progress)
    return RunOutcome(
        topology=definition.name,
        tasks=len(reports),
        seconds=seconds,
        totals=totals,
        passages=tuple(crossed),
        dropped=_dropped(reports),
        latency=_latency(reports),
        whole=is_whole(totals, crossed),
        answer=answer,
        wrong=wrong,
    )


def _dropped(reports: list[Report]) -> tuple[tuple[str, str, int], ...]:
    dropped: Counter[tuple[str, str]] = Counter()
    for report in reports:
        for reason, count in report.get("dropped", {}).items():
            dropped[report["component"], reason] += count
    return tuple((*key, count) for key, count in sorted(dropped.items()))


def _latency(reports: list[Report]) -> str:
    buckets: Counter[int] = Counter()
    for report in reports:
        for bucket, count in report.get("latency", {}).items():
            buckets[int(bucket)] += count
    shares = {"p50": 0.5, "p95": 0.95, "p99": 0.99}
    return ", ".join(
        f"{name} {percentile(buckets, share) or math.nan:.0f} ms" for name, share in shares.items()
    )


def _check(
    definition: Definition,
    given: Mapping[str, Any],
    reports: list[Report],
    totals: SourceTotals,
    catalogue: Catalogue,
    progress: Progress,
) -> tuple[str, bool]:
    """Return how the answer compares with Spark's, in words, and whether it is wrong."""
    answer = catalogue.answers.get(definition.name)
    if answer is None:
        return "this topology has none to check", False
    if totals.skipped:
        return "not checked: records were skipped", False
    options = {name: option.default for name, option in definition.options.items()} | dict(given)
    if any(options[key] != value for key, value in answer.options.items()):
        needed = ", ".join(f"{key}={value}" for key, value in answer.options.items())
        return f"not checked: it needs {needed}", False
    with progress.step("computing the answer with Spark"):
        data = catalogue.topologies.records(definition.name, given)
        sent = answer.sent(data, sent_ordinals(reports, definition.spouts[0].name))
        expected = answer.computed(sent, options)
    answered = answer.given(reports, options)
    if answered == expected:
        return f"equals Spark's: {_first(expected)}", False
    if totals.replayed:
        why = "as it may: what is replayed can be counted twice"
        return f"differs from Spark's, {why}: {_difference(answered, expected)}", False
    return f"DIFFERS from Spark's: {_difference(answered, expected)}", True


def _difference(answered: Any, expected: Any) -> str:
    """Return two answers without what they share."""
    if isinstance(answered, dict) and isinstance(expected, dict):
        keys = [key for key in {**expected, **answered} if answered.get(key) != expected.get(key)]
        answered, expected = ({key: each.get(key) for key in keys} for each in (answered, expected))
    return f"{_first(answered)} instead of {_first(expected)}"


def _first(answer: Any) -> str:
    """Return an answer, or how it begins."""
    text = json.dumps(answer, sort_keys=True)
    return text if len(text) < 200 else f"{text[:200]}... ({len(answer):,} in all)"
