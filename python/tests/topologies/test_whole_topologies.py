"""Every topology in one process: its answer is Spark's, and nothing is left unacknowledged."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rig.options import COMMON
from stormcut.lab.adapters.spark.answers import ANSWERS
from stormcut.lab.adapters.storm.topology_project import load, names, records
from stormcut.lab.cli.topologies import picture

#: Pages that describe the options of several topologies.
WITH_COMMON_PAGE = ("(micro.md)", "(model_driven.md)")
#: More than one: sources may alter a record from replay to replay, bolts may know it again.
REPLAYS = 2
#: One to two minutes each; others have the same tasks, or are compared on few records, below.
LONG = (
    *("bigbench_star", "finance", "load_prediction", "model_driven_diamond", "model_driven_linear"),
    *("model_driven_star", "sentiment", "smart_grid", "taxi", "traffic"),
)
#: Fixtures by the name of the option that needs their address.
SERVERS = ("blobs", "redis")


@pytest.mark.spark
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.full if n in LONG else ()) for n in sorted(ANSWERS)],
)
def test_the_answer_is_spark_s(
    spark: object, whole: Any, name: str, request: pytest.FixtureRequest
) -> None:
    answer, declared = ANSWERS[name], load(name).options
    options = {key: option.default for key, option in declared.items()} | dict(answer.options)
    data = records(name, {})
    given = {"replays": REPLAYS, **answer.options}
    given |= {key: request.getfixturevalue(key) for key in SERVERS if key in declared}
    topology = whole(name, **given)
    replays = topology.run()
    sent = answer.sent(data, range(REPLAYS * len(data)))
    expected = answer.expected(spark, sent, options)
    assert expected
    assert answer.given(topology.reports(), options) == expected
    assert all(not bench.failed for bench in topology.benches.values())
    # A profile of one replay holds for the next.
    for tuples in replays:
        assert tuples[1] == pytest.approx(tuples[0], rel=0.01)


@pytest.mark.spark
@pytest.mark.parametrize(
    "name", ["load_prediction", "log_processing", "sentiment", "taxi", "trending_topics"]
)
def test_malformed_lines_are_counted_and_change_no_answer(
    spark: object, whole: Any, name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    lines = [line.encode() for line in records(name, {})[:300]]
    bad = [b"", b"{", b"a,b,c,1,d,e,f", b"\xff\xfe\x00"]
    data = tmp_path / "lines"
    data.write_bytes(b"\n".join([*bad, *lines[:150], *bad, *lines[150:], *bad]) + b"\n")
    answer, declared = ANSWERS[name], load(name).options
    given = {"replays": 1, "data": str(data), **answer.options}
    options = {key: option.default for key, option in declared.items()} | given
    if "redis" in declared:
        given["redis"] = request.getfixturevalue("redis")
    topology = whole(name, **given)
    topology.run()
    dropped = sum((Counter(bench.dropped) for bench in topology.benches.values()), Counter())
    # The first line of trips is a heading.
    assert dropped["malformed"] == 12 - (name == "taxi")
    replayed = records(name, given)
    sent = answer.sent(replayed, range(len(replayed)))
    assert answer.given(topology.reports(), options) == answer.expected(spark, sent, options)


def test_every_topology_can_be_loaded() -> None:
    assert len(names()) >= 20
    for name in names():
        definition = load(name)
        assert definition.summary.endswith(".")
        assert definition.spouts
        assert {hop.receiver for hop in definition.hops} | {
            spout.name for spout in definition.spouts
        } == {component.name for component in definition.components}


@pytest.mark.parametrize("name", names())
def test_every_topology_has_a_page_with_its_picture(project: Path, name: str) -> None:
    page = (project / "docs" / f"{name}.md").read_text()
    assert page.startswith(f"# {name}: ")
    assert f"({name}.svg)" in page
    # made by `stormcut topologies draw topologies/docs`
    assert (project / "docs" / f"{name}.svg").read_text() == picture(load(name))
    for option in set(load(name).options) - {*COMMON, "data"}:
        assert f"`{option}`" in page or any(all_ in page for all_ in WITH_COMMON_PAGE)
