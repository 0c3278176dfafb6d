"""A bench's planner answers Nimbus as a brain does: sealed, as the leader."""

from types import SimpleNamespace

import pytest
from brain_clusters import supervisors, topology

from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.leader import leaders_client
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.lab.adapters.bench.serving import serving
from stormcut.model.cluster import ClusterState
from stormcut.model.plan import Declined, Plan

STATE = ClusterState(supervisors(2), (topology("t-1-1"),))


class Planner:
    """Plans nothing."""

    leads = True

    def plan(self, state):
        return Plan("p", state.fingerprint(), 0, (), (Declined("t-1-1", "a bench"),))


@pytest.mark.cluster
def test_a_planner_is_asked_as_a_brain_is(zookeeper, auth_file):
    cluster = SimpleNamespace(host="127.0.0.1", zookeeper_address=zookeeper, auth_file=auth_file)
    with (
        connected(zookeeper, read_auth_file(auth_file)) as client,
        serving(Planner(), cluster),
    ):
        asked = leaders_client(StormcutNodes(client), 60.0)
        assert asked is not None
        assert asked.plan(STATE) == Planner().plan(STATE)
