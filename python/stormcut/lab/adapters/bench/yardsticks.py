"""The papers' figures and the goals, as they stand beside the settings of benches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from stormcut.adapters.machine.home import topologies
from stormcut.lab.experiment.bench.yardsticks import (
    THROUGHPUT,
    Goal,
    Published,
    Yardsticks,
)


def read_yardsticks() -> Yardsticks:
    """Return what ``benchmarks/published.yaml`` and ``benchmarks/goals.yaml`` hold."""
    folder = topologies().parent / "benchmarks"
    published = (each for entry in _read(folder / "published.yaml") for each in _published(entry))
    return Yardsticks(tuple(published), tuple(map(_goal, _read(folder / "goals.yaml"))))


def _read(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return rows


def _published(entry: Mapping[str, Any]) -> Iterator[Published]:
    """Yield an entry once for each of its topologies."""
    printed, least, most = _averages(entry) if "averages" in entry else _changes(entry["percent"])
    metric = entry.get("metric", THROUGHPUT)
    scheduler, baseline = entry["schedulers"]
    setting, place = entry["setting"], entry["place"]
    for topology in entry["topologies"]:
        yield Published(topology, scheduler, baseline, metric, printed, least, most, setting, place)


def _averages(entry: Mapping[str, Any]) -> tuple[str, float, float]:
    """Return two printed averages as printed, and their ratio as a range."""
    ours, theirs = entry["averages"]
    change = f" ({entry['change']})" if "change" in entry else ""
    return f"{ours:,} and {theirs:,} tuples per 10 s{change}", ours / theirs, ours / theirs


def _changes(percent: list[float]) -> tuple[str, float, float]:
    """Return one printed change, or a range of them, as printed, and as a range of ratios."""
    printed = " to ".join(f"{change:+g}" for change in percent)
    ratios = [1 + change / 100 for change in percent]
    return f"{printed} %", min(ratios), max(ratios)


def _goal(entry: Mapping[str, Any]) -> Goal:
    scheduler, baseline = entry["schedulers"]
    return Goal(
        scheduler,
        baseline,
        entry.get("metric", THROUGHPUT),
        entry.get("bound"),
        tuple(entry.get("topologies", ())),
        entry.get("settings", ""),
    )
