"""The same cluster as a Compose file that a user can read, change and run."""

from __future__ import annotations

import ipaddress

import yaml

from stormcut.lab.adapters.clusters.docker.image import IMAGE
from stormcut.lab.adapters.clusters.docker.limits import (
    PERIOD_US,
)
from stormcut.lab.adapters.clusters.docker.plan import ClusterPlan, ClusterShape, Container, plan

NAME = "compose"

_SUBNET = ipaddress.IPv4Network("10.213.255.0/24")
_NETWORK = "storm"

_HEADER = """\
# A Storm 1.2.4 cluster with limited nodes, as `stormcut docker compose` prints it.
#
#   stormcut docker image                          # once
#   docker compose -p stormcut -f docker/compose.yaml up -d
#   docker compose -p stormcut -f docker/compose.yaml down && rm -r .stormcut/docker/compose
#
# Every container's Storm home, logs included, is a folder in .stormcut/docker/compose. Its owner
# is STORMCUT_USER. storm.yaml beside this file is copied there at the first start.
# docs/docker.md tells more.
"""


def compose_file(shape: ClusterShape) -> str:
    """Return the text of a Compose file; its paths are relative to the folder ``docker``."""
    planned = plan(NAME, shape, _SUBNET)
    document = {
        "services": {each.name: _service(planned, each) for each in planned.containers},
        "networks": {
            _NETWORK: {"ipam": {"config": [{"subnet": str(_SUBNET), "gateway": planned.gateway}]}}
        },
    }
    return _HEADER + yaml.dump(document, Dumper=_Plain, sort_keys=False, width=100)


def _service(planned: ClusterPlan, container: Container) -> dict[str, object]:
    limits = container.limits
    service: dict[str, object] = {
        "image": IMAGE,
        "container_name": planned.container_name(container),
        "command": container.daemon,
        "hostname": container.name,
        "init": True,
        "environment": {
            "STORMCUT_USER": "${STORMCUT_USER:-1000:1000}",
            **container.environment,
        },
        "volumes": [
            f"../.stormcut/docker/{planned.name}/{container.name}:/storm",
            "./storm.yaml:/opt/stormcut/bin/storm.yaml:ro",
        ],
        "extra_hosts": [f"{name}:{address}" for name, address in planned.hosts.items()],
        "networks": {_NETWORK: {"ipv4_address": container.address}},
    }
    if container.daemon != "zookeeper":
        service["depends_on"] = ["zookeeper"]
    if container.environment:
        service["cap_add"] = ["NET_ADMIN"]
    if limits.cpus is not None:
        service |= {"cpu_period": PERIOD_US, "cpu_quota": limits.quota_us}
    if limits.memory_mb is not None:
        service |= {"mem_limit": f"{limits.memory_mb}m", "memswap_limit": f"{limits.memory_mb}m"}
    return service


class _Plain(yaml.SafeDumper):
    """Writes equal parts out: anchors would save lines and cost readers."""

    def ignore_aliases(self, data: object) -> bool:
        return True
