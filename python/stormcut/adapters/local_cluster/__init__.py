"""Clusters of real Storm daemons on this machine."""

from stormcut.adapters.local_cluster.cluster import ClusterStatus, DaemonStatus, LocalCluster

__all__ = ["ClusterStatus", "DaemonStatus", "LocalCluster"]
