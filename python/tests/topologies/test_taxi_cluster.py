"""The topology on a real Storm cluster, submitted as a user submits it."""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from frequent_routes.ranking import Count, top
from frequent_routes.trips import UnusableTrip, load_trips, route
from stormcut.adapters.local_cluster import LocalCluster
from stormcut.adapters.sparse_submit import submit
from stormcut.adapters.waiting import wait_until
from stormcut.model.errors import StormcutError

pytestmark = pytest.mark.cluster

#: As fast as possible no trip is ever skipped, and in a window of a year none is ever too late:
#: the result does not depend on how busy the machine is.
EVERY_TRIP_ONCE = {
    "rig.rate": 0,
    "rig.replays": 1,
    "rig.window.minutes": 525_600,
    "rig.scale": 0.25,
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster.up("test-taxi", supervisors=2, slots=2, plugin=False) as cluster:
        yield cluster


def submit_taxi(
    cluster: LocalCluster,
    project: Path,
    work_folder: Path,
    options: dict[str, object],
    name: str = "taxi",
) -> None:
    virtualenv = Path(sys.executable).parents[1]
    nimbus = cluster.nimbus_address
    submit(project, "taxi", name, nimbus, 4, options, {}, virtualenv, work_folder)


def test_mistakes_end_at_the_submission(
    cluster: LocalCluster, project: Path, tmp_path: Path
) -> None:
    with pytest.raises(StormcutError, match=r"rig\.rate: -1 must be a number"):
        submit_taxi(cluster, project, tmp_path, {"rig.rate": -1})
    with pytest.raises(StormcutError, match=r"rig\.scale: 'x' must be a number"):
        submit_taxi(cluster, project, tmp_path, {"rig.scale": "x"})
    with pytest.raises(StormcutError, match="the name holds one of"):
        submit_taxi(cluster, project, tmp_path, {}, name="a/b")
    assert cluster.nimbus.cluster().topologies == ()


def test_the_ranking_of_a_whole_replay_equals_a_recount(
    cluster: LocalCluster, project: Path, tmp_path: Path
) -> None:
    before = files(project)
    submit_taxi(cluster, project, tmp_path, EVERY_TRIP_ONCE)
    assert files(project) == before
    with pytest.raises(StormcutError, match="a topology of this name is running"):
        submit_taxi(cluster, project, tmp_path, {})

    expected = recount()
    wait_until(lambda: last_ranking(cluster) == expected, 240, "the ranking equals the recount")
    executors = cluster.nimbus.topology("taxi").executors
    assert len(executors) == 4 + 4 + 2 + 1 + 1 + 2
    assert sum(executor.failed for executor in executors) == 0


def files(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def recount() -> list[Count]:
    counts: Counter[str] = Counter()
    for trip in load_trips():
        try:
            counts[route(trip)] += 1
        except UnusableTrip:
            continue
    return top(counts.items())


def last_ranking(cluster: LocalCluster) -> list[Count]:
    lines = [
        line
        for log in cluster.log_files().values()
        for line in re.findall(r"top routes (\{.*\})", log.read_text(errors="replace"))
    ]
    return [(name, count) for name, count in json.loads(lines[-1])["routes"]] if lines else []
