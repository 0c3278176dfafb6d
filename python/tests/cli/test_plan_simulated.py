"""`stormcut plan --simulate` asks the leading brain and ZooKeeper, and simulates what waits."""

from __future__ import annotations

import json
import time

import pytest
from brain_clusters import dealt, profile_of, supervisors, topology
from conftest_zookeeper import PATIENCE_S

from stormcut.adapters.thrift.brain import BrainServer
from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.application.waiting import wait_until
from stormcut.model.cluster import ClusterState, Described, Slot

ROOT = "/plan-simulated"
RUNNING = dealt(topology("t", (2, 2), acker=False), [Slot("n0", 6700), Slot("n1", 6700)])
WAITS = {
    "topology": "t",
    "reason": "moved for less traffic",
    "measured": True,
    "before": {"headroom": 2.0, "workers_used": 2},
    "after": {"headroom": 3.0, "workers_used": 1},
    "workers_restarted": 2,
    "workers_asked": 1,
    "guard": "advise mode: will not act",
    "answer": "wait",
    "workers": [["n0", 6700, [1, 2, 3, 4]]],
}


class Seer:
    """Leads, and advises to move a topology onto one node."""

    leads = True
    withheld = (WAITS,)

    def described(self):
        state = ClusterState(supervisors(2), (RUNNING,))
        return Described(state, int(time.time() * 1000))

    def outlook(self):
        return {
            "described_ms": int(time.time() * 1000),
            "paused": False,
            "proposal": "abc" if self.withheld else None,
            "mode": "advise",
            "withheld": list(self.withheld),
            "nodes": {"n0": "n0", "n1": "n1"},
        }


@pytest.mark.cluster
def test_a_plan_is_simulated_beside_what_runs(stormcut, zookeeper, auth_file):
    credentials, seer = read_auth_file(auth_file), Seer()
    server = BrainServer(seer, "b", credentials.seal, "127.0.0.1", 0, seer)
    server.start()
    ask = ("plan", "--zookeeper", zookeeper, "--auth-file", auth_file, "--root", ROOT)
    with connected(zookeeper, credentials) as client:
        nodes = StormcutNodes(client, ROOT)
        nodes.secure()
        address = {"version": 1, "id": "b", "host": "127.0.0.1", "port": server.port}
        client.create(nodes.path("leader"), json.dumps(address).encode(), ephemeral=True)
        wait_until(nodes.is_led, PATIENCE_S, "it leads")
        nodes.write_profile(profile_of(RUNNING, 10.0, memory=None))
        code, out, _ = stormcut(*ask, "--simulate", "--json")
        assert code == 0
        found = json.loads(out)["simulated"]
        assert found["then"]["latency_ms"]["t"]["p50"] <= found["now"]["latency_ms"]["t"]["p50"]
        code, out, _ = stormcut(*ask, "--simulate")
        assert code == 0 and "Simulated at the measured rates" in out
        assert "simulated" not in json.loads(stormcut(*ask, "--json")[1])
        fewer = json.loads(stormcut(*ask, "--fewer-workers", "--json")[1])["fewer_workers"]
        code, out, _ = stormcut(*ask, "--fewer-workers")
        assert code == 0 and ("would carry it instead of" if fewer else "no measured") in out
        seer.withheld = ()
        code, out, _ = stormcut(*ask, "--simulate")
        assert code == 0 and "nothing waits" in out and "Simulated" not in out
    server.close()
