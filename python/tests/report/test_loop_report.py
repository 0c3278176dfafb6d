"""The demo's table, page and pictures, from made-up figures."""

import re
import shutil
import subprocess
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from stormcut.application.experiment.loop import Loop, Phase, PlacedExecutor
from stormcut.model.profile import TaskTraffic
from stormcut.profile.flows import Flow, Flows, flows
from stormcut.profile.measured import Measured
from stormcut.report.loop import agreement, as_json, headline, markdown, page, table
from stormcut.report.picture import draw_placement, short_name

HOSTS = ("node-<1>", "node-2", "node-3")
CONSUMER = "__metricsorg.apache.storm.metric.LoggingMetricsConsumer"

SPREAD = (
    PlacedExecutor("source", 1, 2, HOSTS[0], 6700),
    PlacedExecutor("count", 3, 3, HOSTS[1], 6700),
    PlacedExecutor("__acker", 4, 4, HOSTS[1], 6701),
    PlacedExecutor(CONSUMER, 5, 5, HOSTS[2], 6700),
)
#: As the page, the consumer too has moved: nothing is on the third node.
TOGETHER = (
    PlacedExecutor("source", 1, 2, HOSTS[0], 6700),
    PlacedExecutor("count", 3, 3, HOSTS[0], 6700),
    PlacedExecutor("__acker", 4, 4, HOSTS[1], 6701),
    PlacedExecutor(CONSUMER, 5, 5, HOSTS[1], 6701),
)
TRAFFIC: Flows = {
    (1, 3): Flow(300.0, 30_000.0),
    (2, 3): Flow(300.0, 30_000.0),
    (1, 4): Flow(400.0, 8_000.0),
    (3, 5): Flow(1.0, 300.0),
}


def measured(latency: float | None) -> Measured:
    """What the hook counts by itself: it knows of neither the consumer nor its node."""
    return Measured(
        topology="taxi-1-1",
        from_epoch_s=0,
        to_epoch_s=60,
        window_s=60,
        emitted_per_s=1001.0,
        between_nodes_per_s=999.0,
        between_workers_per_s=999.0,
        between_workers_by_hook_per_s=1000.0,
        unplaced_per_s=1.0,
        acked_per_10_s=4000.0,
        failed=0,
        complete_latency_ms=latency,
        nodes_used=1,
        workers_used=1,
        cpu_percent=50.0,
        missing_executors=(),
    )


def scaled(traffic: Flows, tuples: float = 1.0, size: float = 1.0) -> Flows:
    return {
        pair: Flow(flow.tuples * tuples, flow.bytes * tuples * size)
        for pair, flow in traffic.items()
    }


def loop(
    traffic_after: Flows = TRAFFIC,
    after: tuple[PlacedExecutor, ...] = TOGETHER,
    latency: float | None = 5.0,
    before: Flows = TRAFFIC,
) -> Loop:
    return Loop(
        before=Phase("default", measured(latency), SPREAD, before),
        after=Phase("stormcut", measured(5.0), after, traffic_after),
        hosts=HOSTS,
        workers_restarted=2,
        reason="moved <because>",
        settings={"machine": "two & a half cores"},
    )


def crossing_more(by: float) -> Flows:
    """Return traffic of which what crosses nodes after the move is so much more than predicted."""
    return TRAFFIC | {(1, 4): Flow(400.0 * by, 8_000.0 * by), (1, 2): Flow(400.0 * (1 - by), 0.0)}


def test_prediction_and_measurement_agree_if_traffic_stays_what_it_was() -> None:
    result = loop()
    assert result.predicted == result.after.between_nodes == Flow(401.0, 8_300.0)
    assert [(drop.unit, drop.difference) for drop in result.drops] == [
        ("bytes", pytest.approx(0)),
        ("tuples", pytest.approx(0)),
    ]
    assert result.agrees


@pytest.mark.parametrize(("by", "agrees"), [(1.0, True), (1.1, True), (1.3, False), (2.0, False)])
def test_agreement_is_judged_by_the_drop(by: float, agrees: bool) -> None:
    result = loop(crossing_more(by))
    assert result.agrees is agrees
    assert ("do NOT agree" in agreement(result)) is not agrees
    assert as_json(result)["agrees"] is agrees


@pytest.mark.parametrize("slower", [0.3, 0.9, 2.0])
def test_a_source_that_does_not_keep_its_rate_changes_no_verdict(slower: float) -> None:
    assert loop(scaled(TRAFFIC, slower)).agrees
    assert not loop(scaled(crossing_more(2.0), slower)).agrees


def test_bytes_that_do_not_fall_as_predicted_are_no_agreement() -> None:
    heavier = TRAFFIC | {(1, 4): Flow(400.0, 30_000.0)}
    result = loop(heavier)
    assert [drop.agrees for drop in result.drops] == [False, True]
    assert not result.agrees


def test_without_sizes_the_page_tells_of_tuples_alone() -> None:
    light = scaled(TRAFFIC, size=0.0)
    result = loop(light, before=light)
    assert result.agrees
    for text in (headline(result), markdown(result), agreement(result), page(result)):
        assert "bytes" not in text


def test_no_traffic_at_all_is_no_division_by_zero() -> None:
    result = loop({}, before={})
    assert result.agrees
    assert "0 tuples/s instead of 0" in headline(result)


def test_all_that_is_shown_of_places_is_what_nimbus_shows() -> None:
    """The hook knows nothing of a metrics consumer: its node counts all the same."""
    for after, nodes, workers in ((SPREAD, 3, 4), (TOGETHER, 2, 2)):
        result = loop(after=after)
        assert f"on {nodes} nodes instead of 3" in headline(result)
        assert f"| nodes used | 3 | {nodes} |" in markdown(result)
        assert f"| workers used | 4 | {workers} |" in markdown(result)
        shown = as_json(result)["after"]
        assert isinstance(shown, dict)
        assert (shown["nodes_used"], shown["workers_used"]) == (nodes, workers)
        svg = page(result).split("<figure>")[2]
        assert svg.count('<rect class="node"') == nodes
        assert svg.count("(unused)") == 3 - nodes
        assert svg.count('<rect class="worker"') == workers


def test_a_pair_without_a_sampled_size_has_the_mean_of_the_others() -> None:
    found = flows(
        [
            TaskTraffic(1, 2, 30.0, 100.0),
            TaskTraffic(1, 3, 10.0, 20.0),
            TaskTraffic(2, 3, 2.0, None),
        ]
    )
    assert found[2, 3] == Flow(2.0, 160.0)
    assert flows([TaskTraffic(1, 2, 3.0, None)]) == {(1, 2): Flow(3.0, 0.0)}


@pytest.mark.parametrize(
    ("component", "shown"),
    [
        (CONSUMER, "metrics: LoggingMetricsConsumer"),
        (f"{CONSUMER}#2", "metrics: LoggingMetricsConsumer#2"),
        ("__acker", "__acker"),
        ("rolling_count", "rolling_count"),
    ],
)
def test_a_consumers_name_is_shown_without_its_package(component: str, shown: str) -> None:
    assert short_name(component) == shown


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
    text = page(loop())
    checker = Checker()
    checker.feed(text)
    assert checker.fetched == []
    assert checker.count["svg"] == 2
    assert checker.count["circle"] == 2 * 4
    assert checker.count["path"] == 2 * 3
    assert "moved &lt;because&gt;" in text and "node-&lt;1&gt;" in text
    assert "two &amp; a half cores" in text
    assert "org.apache" not in text


def test_the_table_fits_a_terminal_and_says_what_was_not_sampled() -> None:
    console = Console(width=100, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as captured:
        console.print(table(loop(latency=None)))
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= 100
    assert any("not sampled" in line for line in lines)
    shown = markdown(loop())
    assert "| tuples/s between nodes | 1,001 | 401 | -59.9 % |" in shown
    assert "| bytes/s between nodes | 68,300 | 8,300 | -87.8 % |" in shown
    assert "| bytes/s | 68,300 | 8,300 | 8,300 |" in shown


def test_traffic_between_nodes_is_drawn_as_such_and_unknown_tasks_are_left_out() -> None:
    traffic = {(1, 3): Flow(10.0), (3, 4): Flow(5.0), (3, 99): Flow(7.0)}
    svg = draw_placement(HOSTS, SPREAD[:3], traffic, Flow(10.0))
    assert svg.count("between-nodes") == 1
    assert svg.count("between-workers") == 1
    assert "(unused)" in svg


def test_lines_show_bytes_where_sizes_are_known() -> None:
    few_large = {(1, 3): Flow(1.0, 1000.0), (1, 4): Flow(100.0, 10.0)}
    svg = draw_placement(HOSTS, SPREAD, few_large, Flow(100.0, 1000.0))
    thick = svg[svg.index("<path") :].split('stroke-width="')[1:]
    assert float(thick[0].split('"')[0]) < float(thick[1].split('"')[0])
    assert "1.0 tuples/s, 1,000 bytes/s" in thick[1]


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
def test_nothing_scrolls_sideways_on_a_phone(tmp_path: Path) -> None:
    """A frame as wide as a phone tells how wide what it shows has become."""
    long = loop(scaled(TRAFFIC, 1e4), before=scaled(TRAFFIC, 1e4))
    (tmp_path / "frame.html").write_text(
        f'<iframe style="width:375px;height:800px;border:0" srcdoc="{escape(page(long))}" onload="'
        "document.title = 'width ' + this.contentDocument.documentElement.scrollWidth\"></iframe>",
        encoding="utf-8",
    )
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    command += ["--disable-background-networking", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--dump-dom", (tmp_path / "frame.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (width,) = re.findall(r"<title>width (\d+)</title>", shown)
    assert int(width) <= 375
