"""Clusters of real Storm daemons in Docker containers with limited CPU, memory and bandwidth."""

from stormcut.adapters.clusters.docker.cluster import DockerCluster
from stormcut.adapters.clusters.docker.image import VIRTUALENV
from stormcut.adapters.clusters.docker.plan import ClusterShape
from stormcut.adapters.clusters.docker.status import ContainerStatus, DockerStatus

__all__ = ["VIRTUALENV", "ClusterShape", "ContainerStatus", "DockerCluster", "DockerStatus"]
