"""Runs over time, drawn: every event is told, no label covers another, the page stands alone."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from stormcut.lab.experiment.timeline import Event, Kind, Point, Series, Timeline
from stormcut.lab.report.timeline import charts, event_table, page
from stormcut.report.tables import Section, markdown

seconds = st.floats(0, 4000)
figures = st.floats(0, 1e6)
latencies = st.none() | st.floats(0.01, 1e6)
texts = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S", "Zs")), max_size=30)
points = st.builds(Point, seconds, figures, figures, latencies, latencies)
events = st.builds(Event, seconds, st.sampled_from(Kind), texts)
series = st.builds(
    Series,
    texts,
    st.lists(points, max_size=8).map(lambda found: tuple(sorted(found, key=lambda p: p.at_s))),
    st.lists(events, max_size=8).map(tuple),
)
timelines = st.lists(series, min_size=1, max_size=3).map(lambda found: Timeline(tuple(found)))


@given(timelines)
def test_both_pictures_hold_every_event_and_no_label_covers_another(timeline: Timeline) -> None:
    count = sum(len(run.events) for run in timeline.series)
    for picture in charts(timeline):
        drawn = ET.fromstring(picture.svg)
        boxes = [
            tuple(float(box.attrib[key]) for key in ("x", "y", "width"))
            for box in drawn.iter("rect")
        ]
        assert len(boxes) == count
        width = float(drawn.attrib["viewBox"].split()[2])
        for at, (x, y, wide) in enumerate(boxes):
            assert 0 <= x <= x + wide <= width + 0.1
            for left, top, other in boxes[:at]:
                assert top != y or x >= left + other or left >= x + wide


@given(timelines)
def test_lines_stay_inside_their_picture(timeline: Timeline) -> None:
    for picture in charts(timeline):
        drawn = ET.fromstring(picture.svg)
        _, _, width, height = map(float, drawn.attrib["viewBox"].split())
        for circle in drawn.iter("circle"):
            assert 0 <= float(circle.attrib["cx"]) <= width
            assert -0.1 <= float(circle.attrib["cy"]) <= height


@given(timelines)
def test_the_table_tells_events_in_the_order_of_time(timeline: Timeline) -> None:
    table = event_table(timeline)
    told = sorted((e for run in timeline.series for e in run.events), key=lambda e: e.at_s)
    assert [row[-1] for row in table.rows] == [event.text for event in told]
    assert all(len(row) == len(table.header) for row in table.rows)


def test_a_page_stands_alone_and_shows_code_as_it_is() -> None:
    timeline = Timeline((Series("cut", (Point(3, 10, 9, 1.0, None),)),))
    section = Section("Over time", 2, pictures=charts(timeline), code="mode: <automatic>\n")
    text = page("title", "12 % more", [section])
    assert not re.findall(r'(?:src|href)="|url\(', text)
    assert "mode: &lt;automatic&gt;" in text
    assert "```\nmode: <automatic>\n```" in markdown([section])
