"""What the papers print, and the goals, as the files beside the settings have them."""

import pytest

from stormcut.adapters.machine.home import topologies as project
from stormcut.lab.adapters.bench.yardsticks import read_yardsticks
from stormcut.lab.experiment.bench.yardsticks import THROUGHPUT, TUPLE_TIME, Published
from stormcut.placement.registry import ALGORITHMS

YARDSTICKS = read_yardsticks()
PUBLISHED = YARDSTICKS.published


def printed(topology: str, baseline: str, scheduler: str = "") -> list[Published]:
    return [
        entry
        for entry in PUBLISHED
        if (entry.topology, entry.baseline) == (topology, baseline)
        and scheduler in ("", entry.scheduler)
    ]


def test_what_the_papers_print() -> None:
    found = {entry.scheduler: entry for entry in printed("load_prediction", "r-storm")}
    assert found["p-scheduler"].least == pytest.approx(6900 / 5200)
    assert "+32 %" in found["p-scheduler"].printed and "+30 %" in found["i-scheduler"].printed
    (change,) = printed("sentiment", "even", "stromax")
    assert (change.metric, change.least) == (TUPLE_TIME, pytest.approx(0.61))
    (spread,) = printed("bigbench_star", "even", "bframework")
    assert (spread.least, spread.most) == pytest.approx((0.343, 0.963))
    assert printed("word_count", "even") == []
    assert all(e.least <= e.most and e.metric in (THROUGHPUT, TUPLE_TIME) for e in PUBLISHED)


def test_names_are_those_of_this_project() -> None:
    topologies = {path.stem for path in (project() / "topologies").glob("*.py")}
    assert {entry.topology for entry in PUBLISHED} <= topologies
    assert {name for goal in YARDSTICKS.goals for name in goal.topologies} <= topologies
    named = {name for e in (*PUBLISHED, *YARDSTICKS.goals) for name in (e.scheduler, e.baseline)}
    assert {name.partition(":")[0] for name in named} <= set(ALGORITHMS)


def test_stromax_alone_is_its_bootstrap_and_compared_with_that_only() -> None:
    assert printed("throughput_test", "even", "stromax") == []
    (entry,) = printed("throughput_test", "even", "stromax:mode=rebalance")
    assert entry.place == "StroMAX 5.4, fig. 8a (Bootstrap and Rebalance)"
