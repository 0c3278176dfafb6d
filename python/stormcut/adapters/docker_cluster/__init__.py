"""Clusters of real Storm daemons in Docker containers with limited CPU, memory and bandwidth."""

from stormcut.adapters.docker_cluster.cluster import DockerCluster
from stormcut.adapters.docker_cluster.image import VIRTUALENV
from stormcut.adapters.docker_cluster.plan import Shape
from stormcut.adapters.docker_cluster.status import ContainerStatus, DockerStatus

__all__ = ["VIRTUALENV", "ContainerStatus", "DockerCluster", "DockerStatus", "Shape"]
