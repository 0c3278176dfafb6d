"""The topology on a real Storm cluster, submitted as a user submits it."""

import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

from frequent_routes.ranking import Count, top
from frequent_routes.trips import UnusableTrip, load_trips, route
from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.local import LocalCluster
from stormcut.lab.adapters.storm.sparse_submit import submit
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


def submit_taxi(
    storm: LocalCluster,
    project: Path,
    work_folder: Path,
    options: dict[str, object],
    name: str = "taxi",
) -> None:
    virtualenv = Path(sys.executable).parents[1]
    nimbus = storm.nimbus_address
    submit(project, "taxi", name, nimbus, 4, options, {}, virtualenv, work_folder)


def test_mistakes_end_at_the_submission(storm: LocalCluster, project: Path, tmp_path: Path) -> None:
    with pytest.raises(StormcutError, match=r"rig\.rate: -1 must be a number"):
        submit_taxi(storm, project, tmp_path, {"rig.rate": -1})
    with pytest.raises(StormcutError, match=r"rig\.scale: 'x' must be a number"):
        submit_taxi(storm, project, tmp_path, {"rig.scale": "x"})
    with pytest.raises(StormcutError, match="the name holds one of"):
        submit_taxi(storm, project, tmp_path, {}, name="a/b")
    assert storm.nimbus.cluster().topologies == ()


def test_the_ranking_of_a_whole_replay_equals_a_recount(
    storm: LocalCluster, project: Path, tmp_path: Path
) -> None:
    before = files(project)
    submit_taxi(storm, project, tmp_path, EVERY_TRIP_ONCE)
    assert files(project) == before
    with pytest.raises(StormcutError, match="a topology of this name is running"):
        submit_taxi(storm, project, tmp_path, {})

    expected = recount()
    wait_until(lambda: last_ranking(storm) == expected, 240, "the ranking equals the recount")
    executors = storm.nimbus.topology("taxi").executors
    assert len(executors) == 4 + 4 + 2 + 1 + 1 + 2
    assert sum(executor.failed for executor in executors) == 0
    storm.nimbus.end_topology("taxi")


def files(folder: Path) -> dict[Path, int]:
    """When each was written last, but for what Python keeps of other tests that load them."""
    every = (path for path in folder.rglob("*") if path.is_file())
    return {path: path.stat().st_mtime_ns for path in every if path.parent.name != "__pycache__"}


def recount() -> list[Count]:
    counts: Counter[str] = Counter()
    for trip in load_trips():
        try:
            counts[route(trip)] += 1
        except UnusableTrip:
            continue
    return top(counts.items())


def last_ranking(storm: LocalCluster) -> list[Count]:
    own = f"{storm.nimbus.topology_id('taxi')}/"
    logs = [log for name, log in storm.log_files().items() if name.startswith(own)]
    lines = [
        line
        for log in logs
        for line in re.findall(r"top routes (\{.*\})", log.read_text(errors="replace"))
    ]
    return [(name, count) for name, count in json.loads(lines[-1])["routes"]] if lines else []
