"""Clusters of real Storm daemons on this machine."""

from stormcut.adapters.local_cluster.cluster import LocalCluster
from stormcut.adapters.local_cluster.status import ClusterStatus, DaemonStatus

__all__ = ["ClusterStatus", "DaemonStatus", "LocalCluster"]
