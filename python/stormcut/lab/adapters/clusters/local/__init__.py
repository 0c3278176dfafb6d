"""Clusters of real Storm daemons on this machine."""

from stormcut.lab.adapters.clusters.local.cluster import LocalCluster
from stormcut.lab.adapters.clusters.local.status import ClusterStatus, DaemonStatus

__all__ = ["ClusterStatus", "DaemonStatus", "LocalCluster"]
