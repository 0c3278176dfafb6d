"""Clusters of real Storm daemons in Docker containers with limited CPU, memory and bandwidth."""

from stormcut.lab.adapters.clusters.docker.cluster import DockerCluster
from stormcut.lab.adapters.clusters.docker.image import VIRTUALENV
from stormcut.lab.adapters.clusters.docker.plan import ClusterShape
from stormcut.lab.adapters.clusters.docker.status import ContainerStatus, DockerStatus

__all__ = ["VIRTUALENV", "ClusterShape", "ContainerStatus", "DockerCluster", "DockerStatus"]
