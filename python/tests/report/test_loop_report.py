"""The demo's table, page and pictures, from made-up figures."""

from html.parser import HTMLParser

import pytest
from rich.console import Console

from stormcut.profile.measured import Measured
from stormcut.report.loop import Loop, Phase, agreement, as_json, headline, markdown, page, table
from stormcut.report.picture import PlacedExecutor, draw_placement

HOSTS = ("node-<1>", "node-2", "node-3")


def measured(between_nodes: float, latency: float | None) -> Measured:
    return Measured(
        topology="taxi-1-1",
        from_epoch_s=0,
        to_epoch_s=60,
        window_s=60,
        emitted_per_s=1000.0,
        between_nodes_per_s=between_nodes,
        between_workers_per_s=between_nodes,
        between_workers_by_hook_per_s=between_nodes,
        unplaced_per_s=0.0,
        acked_per_10_s=4000.0,
        failed=0,
        complete_latency_ms=latency,
        nodes_used=2,
        workers_used=2,
        cpu_percent=50.0,
        missing_executors=(),
    )


def phase(label: str, between_nodes: float, latency: float | None = 5.0) -> Phase:
    executors = (
        PlacedExecutor("source", 1, 2, HOSTS[0], 6700),
        PlacedExecutor("count", 3, 3, HOSTS[1], 6700),
        PlacedExecutor("__acker", 4, 4, HOSTS[1], 6701),
    )
    return Phase(label, measured(between_nodes, latency), executors, {(2, 3): 500.0, (3, 4): 1.0})


def loop(after: float, predicted_after: float, latency: float | None = 5.0) -> Loop:
    return Loop(
        before=phase("default", 1000.0, latency),
        after=phase("stormcut", after),
        hosts=HOSTS,
        predicted_before=1000.0,
        predicted_after=predicted_after,
        workers_restarted=2,
        reason="moved <because>",
        settings={"machine": "two & a half cores"},
    )


@pytest.mark.parametrize(
    ("after", "predicted", "agrees"),
    [(400.0, 400.0, True), (450.0, 400.0, True), (470.0, 400.0, False), (1000.0, 400.0, False)],
)
def test_agreement_is_judged_by_the_drop(after: float, predicted: float, agrees: bool) -> None:
    result = loop(after, predicted)
    assert result.agrees is agrees
    assert ("do NOT agree" in agreement(result)) is not agrees
    assert as_json(result)["agrees"] is agrees


def test_no_traffic_at_all_is_no_division_by_zero() -> None:
    result = Loop(
        phase("a", 0.0), phase("b", 0.0), HOSTS, 0.0, 0.0, 0, "nothing to do", {"machine": "any"}
    )
    assert result.agrees
    assert "+0.0 %" in headline(result) or "-0.0 %" in headline(result)


class Checker(HTMLParser):
    """Counts elements, and notes every address that a browser would fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.count: dict[str, int] = {}
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_page_is_self_contained_and_escapes_what_it_shows() -> None:
    text = page(loop(400.0, 400.0))
    checker = Checker()
    checker.feed(text)
    assert checker.fetched == []
    assert checker.count["svg"] == 2
    assert checker.count["circle"] == 2 * 3
    assert checker.count["path"] == 2 * 2
    assert "moved &lt;because&gt;" in text and "node-&lt;1&gt;" in text
    assert "two &amp; a half cores" in text


def test_the_table_fits_a_terminal_and_says_what_was_not_sampled() -> None:
    console = Console(width=100, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as captured:
        console.print(table(loop(400.0, 400.0, latency=None)))
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= 100
    assert any("not sampled" in line for line in lines)
    assert "| tuples/s between nodes | 1,000 | 400 | -60.0 % |" in markdown(loop(400.0, 400.0))


def test_traffic_between_nodes_is_drawn_as_such_and_unknown_tasks_are_left_out() -> None:
    executors = phase("x", 1.0).executors
    svg = draw_placement(HOSTS, executors, {(1, 3): 10.0, (3, 4): 5.0, (3, 99): 7.0}, 10.0)
    assert svg.count("between-nodes") == 1
    assert svg.count("between-workers") == 1
    assert "(unused)" in svg
