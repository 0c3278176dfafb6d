"""What is true of a brain at this moment, in Prometheus's terms (docs/monitoring.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from stormcut import __version__
from stormcut.adapters.http.view import View
from stormcut.control.decide.decision import Decision, Guard, PlacementFigures
from stormcut.control.policy import Mode
from stormcut.control.review.outcome import Outcome

#: Of a decided topology: name, meaning, and its figure, None if that is not known.
DECIDED: tuple[tuple[str, str, Callable[[PlacementFigures], float | None]], ...] = (
    (
        "between_nodes_tuples_per_second",
        "Measured tuples/s between nodes",
        lambda value: value.metrics.inter_node_tuples_per_second,
    ),
    (
        "between_nodes_bytes_per_second",
        "Measured bytes/s between nodes",
        lambda value: value.bytes_per_second,
    ),
    (
        "headroom_ratio",
        "How many times today's rates fit before something is full",
        lambda value: None if value.worth is None else value.worth.headroom,
    ),
)


class Gauges(Collector):
    """Tells of a `View` whenever it is asked; of a brain that does not lead only the first three.

    So topologies that are gone have no series, and no two brains tell of one topology.
    """

    def __init__(self, view: View) -> None:
        self._view = view

    def collect(self) -> Iterable[Metric]:
        """Yield all gauges as they are now."""
        view = self._view
        build = GaugeMetricFamily("stormcut_build_info", "Always 1.", labels=["version"])
        build.add_metric([__version__], 1.0)
        yield build
        leads = view.leads
        yield _gauge("leader", "Whether this brain leads.", float(leads))
        yield _gauge(
            "zookeeper_connected",
            "Whether its session with ZooKeeper lives.",
            float(view.in_session()),
        )
        if leads:
            yield from self._known()
            yield from self._control()
            yield from self._decided()

    def _known(self) -> Iterator[Metric]:
        ages = self._view.profile_ages()
        yield _gauge(
            "nimbus_asked_age_seconds",
            "Since Nimbus asked last, or since this brain leads.",
            self._view.asked_age(),
        )
        yield _gauge("profiles", "Published profiles.", len(ages))
        family = GaugeMetricFamily(
            "stormcut_profile_age_seconds",
            "Since the last second that a topology's profile measures.",
            labels=["topology"],
        )
        for topology, age in sorted(ages.items()):
            family.add_metric([topology], age)
        yield family

    def _control(self) -> Iterator[Metric]:
        control = self._view.control()
        modes = {mode.value: float(mode is control.mode) for mode in Mode}
        yield _gauges("mode", "1 for the mode in which it acts.", "mode", modes)
        yield _gauge("paused", "Whether people have paused it.", float(control.is_paused))
        yield _gauges(
            "drained_executors",
            "Executors that still run on a drained node.",
            "node",
            control.left_on_drained,
        )
        yield _gauge("silent_nodes", "Nodes that nothing is heard of.", len(control.silent))
        yield _gauges(
            "waiting_changes",
            "Topologies whose change is withheld, by the guard that holds it.",
            "guard",
            {_word(guard): control.waiting.get(guard, 0) for guard in Guard},
        )
        yield _gauges(
            "reviewed_moves",
            "What became of the last moves.",
            "outcome",
            {_word(each): control.outcomes.get(each, 0) for each in Outcome},
        )

    def _decided(self) -> Iterator[Metric]:
        decisions = {n: d for n, d in self._view.decisions().items() if d.evidence.measured}
        for name, meaning, figure in DECIDED:
            family = GaugeMetricFamily(
                f"stormcut_decided_{name}",
                f"{meaning}, where it ran (before) and shall run (after).",
                labels=["topology", "placement"],
            )
            for topology, decision in decisions.items():
                for placement, value in _values(decision):
                    number = None if value is None else figure(value)
                    if number is not None:
                        family.add_metric([topology, placement], number)
            yield family


def _values(decision: Decision) -> tuple[tuple[str, PlacementFigures | None], ...]:
    return ("before", decision.before), ("after", decision.after)


def _word(one: Enum) -> str:
    return one.name.lower()


def _gauges(name: str, meaning: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(f"stormcut_{name}", meaning, labels=[label])
    for each, value in values.items():
        family.add_metric([each], value)
    return family


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(f"stormcut_{name}", meaning, value)
