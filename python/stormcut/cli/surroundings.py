"""What a controller would find around it: folders, ZooKeeper, Nimbus, the nodes it is told of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from stormcut.adapters.files.config_file import Config
from stormcut.adapters.storm.nimbus import NimbusClient, NimbusUnavailable
from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.leader import leaders_client
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.control.policy import matches
from stormcut.model.errors import InvalidInput

#: Of an answer of the brain.
SECONDS = 10.0


def faults_around(config: Config) -> Iterator[str]:
    """Yield what is not there, or does not take, what the controller would use."""
    missing = [each for each in config.logs if not (each.is_dir() or _comes_with_workers(each))]
    yield from (f"observe.logs: {each}: no such folder" for each in missing)
    hosts: set[str] = set()
    for address in config.nimbus:
        try:
            supervisors = NimbusClient.at(address).cluster().supervisors
        except NimbusUnavailable as error:
            yield f"nimbus: {address}: {error}"
        else:
            hosts |= {name for each in supervisors for name in (each.id, each.host)}
    try:
        with connected(config.zookeeper, read_auth_file(config.auth_file)) as client:
            hosts |= _known_to_brain(StormcutNodes(client, config.root), config)
    except InvalidInput as error:
        yield f"zookeeper: {error}"
    if hosts:
        unknown = [each for each in config.policy.drained if not matches((each,), hosts)]
        yield from (f"drained: {each}: no supervisor has this id or host" for each in unknown)


def _comes_with_workers(folder: Path) -> bool:
    """Return whether a supervisor that has never run a worker is going to make this folder."""
    return folder.name == "workers-artifacts" and folder.parent.is_dir()


def _known_to_brain(nodes: StormcutNodes, config: Config) -> set[str]:
    """Return ids and hosts of the nodes that the leading brain knows, none if there is no brain."""
    # A secret that is not theirs shows here.
    if not nodes.client.exists(nodes.root) or nodes.client.get_children(nodes.root) is None:
        return set()
    client = leaders_client(nodes, SECONDS, config.tls)
    if client is None:
        return set()
    try:
        supervisors = client.described().state.supervisors
    except InvalidInput:
        # Nimbus has not described any node yet.
        return set()
    return {name for each in supervisors for name in (each.id, each.host)}
