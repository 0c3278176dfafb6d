"""`stormcut capacity advise` asks the leading brain, and prints a plan and what to type."""

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

ROOT = "/capacity-advise"
RUNNING = dealt(
    topology("t", (2, 3), tasks_each=2, acker=False), [Slot("n0", 6700), Slot("n1", 6700)]
)


class Seer:
    """Leads, and knows two nodes and a topology."""

    leads = True

    def described(self):
        state = ClusterState(supervisors(4), (RUNNING,))
        return Described(state, int(time.time() * 1000))


@pytest.mark.cluster
def test_advice_from_a_running_cluster(stormcut, zookeeper, auth_file):
    credentials = read_auth_file(auth_file)
    server = BrainServer(Seer(), "b", credentials.seal, "127.0.0.1", 0, Seer())
    server.start()
    where = ("--zookeeper", zookeeper, "--auth-file", auth_file, "--root", ROOT)
    with connected(zookeeper, credentials) as client:
        nodes = StormcutNodes(client, ROOT)
        nodes.secure()
        address = {"version": 1, "id": "b", "host": "127.0.0.1", "port": server.port}
        client.create(nodes.path("leader"), json.dumps(address).encode(), ephemeral=True)
        wait_until(nodes.is_led, PATIENCE_S, "it leads")
        code, _, err = stormcut("capacity", "advise", "t=5x", *where)
        assert code == 2 and "nothing is measured yet" in err
        nodes.write_profile(profile_of(RUNNING, 30.0, memory=None))
        code, out, _ = stormcut("capacity", "advise", "t=5x", *where, "--json")
        found = json.loads(out)
        assert code == 0
        assert found["topologies"]["t"]["components"]["c1"]["executors"] == 6
        assert "-e c0=4 -e c1=6" in found["commands"][0]
        assert found["headroom"] >= 1.25 - 1e-6
        code, out, _ = stormcut("capacity", "advise", "t=5x", *where)
        assert code == 0 and "storm rebalance t" in out
        storm = stormcut("capacity", "advise", "t=5x", *where, "--placed-by", "storm", "--json")
        assert storm[0] == 0
        # Storm's own scheduler spreads; stormcut's gathers what fits.
        assert json.loads(storm[1])["nodes"] >= found["nodes"]
        assert stormcut("capacity", "advise", "u=2x", *where)[0] == 2
        assert stormcut("capacity", "advise", "t=fast", *where)[0] == 2
        assert stormcut("capacity", "advise", "t=1000x", *where)[0] == 3
    server.close()
