"""Clusters of real Storm daemons on this machine."""

from stormcut.adapters.clusters.local.cluster import LocalCluster
from stormcut.adapters.clusters.local.status import ClusterStatus, DaemonStatus

__all__ = ["ClusterStatus", "DaemonStatus", "LocalCluster"]
