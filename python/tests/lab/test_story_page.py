"""The demo's table, page and pictures, from made-up figures."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from stormcut.lab.experiment.story import (
    MEASUREMENTS,
    Load,
    Phase,
    Story,
    StorySpan,
    measured,
)
from stormcut.lab.experiment.timeline import Event, Kind, Point, Series, Timeline
from stormcut.lab.report.picture import draw_placement, short_name
from stormcut.lab.report.story import Made, as_json, headline, html, markdown, table
from stormcut.model.profile import TaskTraffic
from stormcut.model.summaries import ExecutorSummary
from stormcut.profile.flows import Flow, Flows, flows

HOSTS = ("node-<1>", "node-2", "node-3")
CONSUMER = "__metricsorg.apache.storm.metric.LoggingMetricsConsumer"


def placed(component: str, first: int, last: int, host: str, port: int) -> ExecutorSummary:
    return ExecutorSummary(component, first, last, host, port, 60, False, 1, 1, 1, 0, None)


SPREAD = (
    placed("source", 1, 2, HOSTS[0], 6700),
    placed("count", 3, 3, HOSTS[1], 6700),
    placed("__acker", 4, 4, HOSTS[1], 6701),
    placed(CONSUMER, 5, 5, HOSTS[2], 6700),
)
#: The consumer too has moved: nothing is on the third node.
TOGETHER = (
    placed("source", 1, 2, HOSTS[0], 6700),
    placed("count", 3, 3, HOSTS[0], 6700),
    placed("__acker", 4, 4, HOSTS[1], 6701),
    placed(CONSUMER, 5, 5, HOSTS[1], 6701),
)
TRAFFIC: Flows = {
    (1, 3): Flow(300.0, 30_000.0),
    (2, 3): Flow(300.0, 30_000.0),
    (1, 4): Flow(400.0, 8_000.0),
    (3, 5): Flow(1.0, 300.0),
}
MADE = Made("mode: <automatic>\n", {"machine": "two & a half cores"})


def story(
    why: str = "", traffic: Flows = TRAFFIC, latency: float | None = 5.0, end_s: float = 120.0
) -> Story:
    points = tuple(Point(float(at), 1400.0, 600.0, latency, latency) for at in range(3, 120, 3))
    events = (Event(60.0, Kind.MOVE, "plan 1a2b: moved <because>"),)
    return Story(
        Timeline((Series("linear", points, events),)),
        (
            Phase("Storm's own", 30.0, 45.0, 1400.0, 600.0, latency, latency, SPREAD, traffic),
            Phase("placed", 80.0, end_s, 1400.0, 1400.0, latency, 20.0, TOGETHER, traffic),
        ),
        HOSTS,
        why,
    )


def test_what_crosses_nodes_follows_from_places_and_traffic() -> None:
    before, after = story().phases
    assert before.crossing == 1.0
    assert after.crossing == pytest.approx(8_300 / 68_300)
    assert story(traffic={}).phases[0].crossing is None


def test_the_headline_says_what_changed_or_what_did_not_happen() -> None:
    assert "600 were acknowledged" in headline(story())
    assert "+133 %" in headline(story())
    assert headline(story("the load never stalled")).endswith("not happen: the load never stalled.")


def test_nothing_acknowledged_before_the_move_has_no_gain_in_percent() -> None:
    found = story()
    before, after = found.phases
    nothing = replace(before, acked_per_s=0.0, mean_ms=None)
    said = headline(replace(found, phases=(nothing, after)))
    assert "0 were acknowledged" in said
    assert "%" not in said
    assert "instead" not in said


def test_a_story_that_ended_early_is_shown_all_the_same() -> None:
    early = Story(Timeline((Series("linear", ()),)), (), HOSTS, "nothing came")
    assert "nothing came" in html(early, MADE)
    assert "nothing came" in markdown(early, MADE)
    assert as_json(early)["phases"] == []


def test_figures_are_json() -> None:
    found = json.loads(json.dumps(as_json(story())))
    assert [phase["acked_per_s"] for phase in found["phases"]] == [600.0, 1400.0]
    assert found["phases"][1]["nodes"] == sorted(HOSTS[:2])
    assert found["events"] == [{"at_s": 60.0, "kind": "move", "text": "plan 1a2b: moved <because>"}]


def test_offered_load_climbs_and_its_last_step_lasts() -> None:
    load = Load((200.0, 400.0, 800.0), 10.0, 0.0)
    assert [load.at(at) for at in (-3, 0, 9.9, 10, 20, 1e6)] == [200, 200, 200, 400, 800, 800]
    assert load.full_s == 20.0


@pytest.mark.parametrize("moves", [0, 1, MEASUREMENTS - 1, MEASUREMENTS + 5])
def test_what_moves_while_it_is_measured_recovers_before_it_is_measured_again(moves: int) -> None:
    done: list[str] = []

    def window() -> StorySpan:
        done.append("window")
        number = done.count("window")
        return StorySpan(number, number + 1, number <= moves)

    found = measured(window, lambda: done.append("recover"))
    windows = min(moves + 1, MEASUREMENTS)
    assert done == ["window", "recover"] * (windows - 1) + ["window"]
    assert found.begin == windows


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
    text = html(story(), MADE)
    checker = Checker()
    checker.feed(text)
    assert checker.fetched == []
    assert checker.count["svg"] == 4
    assert "moved &lt;because&gt;" in text and "node-&lt;1&gt;" in text
    assert "two &amp; a half cores" in text and "mode: &lt;automatic&gt;" in text
    assert "org.apache" not in text


def test_each_placement_is_drawn_with_the_nodes_it_uses() -> None:
    *_, first, second = html(story(), MADE).split("<figure>")
    for svg, nodes, workers in ((first, 3, 4), (second, 2, 2)):
        assert svg.count('<rect class="node"') == nodes
        assert svg.count("(unused)") == 3 - nodes
        assert svg.count('<rect class="worker"') == workers


def test_the_table_fits_a_terminal_and_says_what_was_not_measured() -> None:
    console = Console(width=100, record=True, file=None, quiet=False, force_terminal=False)
    with console.capture() as captured:
        table(story(latency=None)).print(console)
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= 100
    assert any("Storm's own" in line and " - " in line for line in lines)
    shown = markdown(story(), MADE)
    assert "| placed | 1:20 | 2:00 | 1,400 | 1,400 | 5 | 20 | 12 % |" in shown
    assert "```\nmode: <automatic>\n```" in shown


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
    page = escape(html(story(), MADE))
    (tmp_path / "frame.html").write_text(
        f'<iframe style="width:375px;height:800px;border:0" srcdoc="{page}" onload="'
        "document.title = 'width ' + this.contentDocument.documentElement.scrollWidth\"></iframe>",
        encoding="utf-8",
    )
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    command += ["--disable-background-networking", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--dump-dom", (tmp_path / "frame.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (width,) = re.findall(r"<title>width (\d+)</title>", shown)
    assert int(width) <= 375
