"""A node of a cluster without a free slot dies: never worse than under Storm alone.

The topologies are pinned, it is quiet all day, and no more than one worker may restart in an hour.
One plan once ended all workers that lived and put everything on the dead node: nothing was acked
for over a minute, where Storm alone took ten seconds.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from fault_ground import CONFIG, SUPERVISORS, Ground, Silence, embedded, faults_in_logs
from fault_list import node_lost, node_returns

from stormcut.adapters.clusters.local import LocalCluster
from stormcut.application.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.full, pytest.mark.timeout(1200)]

POLICY = {
    "policy": {
        "cool_down": 3600,
        "restarts_per_round": 1,
        "restarts_per_hour": 1,
        "quiet_hours": ["00:00-24:00"],
    },
    "topologies": [{"match": "*", "pin": True}],
}
SLOTS, WORKERS = 2, 3
#: What two runs of the same differ by.
NOISE_S = 15.0


def survived(ground: Ground) -> tuple[float, int, int]:
    """Kill a node; return the seconds without acks, and how many workers ended of how many."""
    busy = ground.busy_supervisor()
    host = ground.cluster.supervisor_hosts[busy]
    dead = {
        port
        for name in ground.topologies
        for at, port in ground.nimbus.topology(name).workers
        if at == host
    }
    living = {pid for pid, port in ground.workers().items() if port not in dead}
    with Silence(ground) as silence:
        node_lost(ground)
        acked = ground.acked()
        wait_until(lambda: not list(ground.wrong_in_storm(acked)), 240, "all is acked again")
        # Nimbus drops the node meanwhile.
        time.sleep(30)
    ended = living - set(ground.workers())
    node_returns(ground)
    return silence.longest_s, len(ended), len(living)


def alone(folder: Path) -> tuple[float, int, int]:
    """Return the same under Storm alone."""
    name = f"tests-full-stock-{os.getpid()}"
    with LocalCluster.up(name, SUPERVISORS, SLOTS, plugin=False, config=CONFIG) as cluster:
        ground = Ground(cluster, folder, controllers=0, topologies=2, workers=WORKERS)
        for each in ground.topologies:
            ground.submit(each)
        acked = ground.acked()
        wait_until(lambda: not list(ground.wrong_in_storm(acked)), 240, "all is acked")
        return survived(ground)


def test_it_is_no_worse_than_under_storm_alone(tmp_path: Path) -> None:
    stock_s, stock_ended, _ = alone(tmp_path / "stock")
    with embedded(
        f"tests-full-{os.getpid()}",
        tmp_path / "ours",
        whole=False,
        config=lambda _: POLICY,
        workers=WORKERS,
        slots=SLOTS,
    ) as ground:
        ours_s, ended, living = survived(ground)
        status = json.loads(ground.command("status", "--json"))
        assert not ground.books().lost
        assert not faults_in_logs(ground)
    print(f"silent {ours_s:.1f} s, alone {stock_s:.1f}; ended {ended}, alone {stock_ended}")
    assert ours_s < stock_s + NOISE_S
    assert ended <= stock_ended
    assert ended < living
    assert len(status["topologies"]) == len(ground.topologies)
