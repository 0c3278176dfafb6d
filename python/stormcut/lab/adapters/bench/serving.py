"""A planner as the brain of a cluster, for as long as a block runs."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from stormcut.adapters.thrift.brain import BrainServer, Planner
from stormcut.adapters.thrift.client import BrainClient, Heartbeat
from stormcut.adapters.zookeeper.client import SESSION_SECONDS
from stormcut.adapters.zookeeper.leader import ZooKeeperLeadership, leader_address
from stormcut.adapters.zookeeper.nodes import StormcutNodes, nodes_at
from stormcut.application.waiting import Watch, wait_until
from stormcut.lab.adapters.clusters.docker import DockerCluster

#: Of served time; the session of a bench that was killed ends in one of these.
ELECTED_S = 5 * SESSION_SECONDS


@contextmanager
def serving(planner: Planner, cluster: DockerCluster) -> Iterator[None]:
    """Let the plugin of a cluster ask ``planner``; it listens in the cluster's network alone.

    Raises
    ------
    InvalidInput
        ZooKeeper or the address cannot be used.
    TimedOut
        Another brain leads.
    """
    identity = f"bench-{os.getpid()}-{int(time.time())}"
    with nodes_at(cluster.zookeeper_address, cluster.auth_file) as nodes:
        server = BrainServer(planner, identity, nodes.seal, cluster.host, 0)
        try:
            nodes.secure()
            pulse = Heartbeat(BrainClient(identity, nodes.seal, cluster.host, server.port))
            leadership = ZooKeeperLeadership(
                nodes, identity, cluster.host, server.port, _pass, _pass, pulse.beats
            )
            server.start()
            leadership.start()
            try:
                wait_until(
                    lambda: leadership.leads,
                    ELECTED_S,
                    "the bench's planner is elected",
                    watch=Watch(last_words=lambda: _who_leads(nodes)),
                )
                yield
            finally:
                leadership.close()
        finally:
            server.close()


def _who_leads(nodes: StormcutNodes) -> str:
    leader = leader_address(nodes)
    return f"{leader['id']} leads" if leader else "nobody leads"


def _pass() -> None:
    """Nothing is published or read: every question is answered from memory."""
