"""What nodes have used so far: bytes sent and received, CPU time, as the kernel counts them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import psutil

from stormcut.lab.adapters.clusters.docker.engine import engine
from stormcut.lab.experiment.bench.counters import NodeCounters


def read_counters(containers: Sequence[str]) -> NodeCounters:
    """Return the totals of containers, by the engine's names."""
    with engine() as client, ThreadPoolExecutor(len(containers)) as pool:
        now = time.time()
        stats = list(
            pool.map(lambda name: client.api.stats(name, stream=False, one_shot=True), containers)
        )
        cpu = psutil.cpu_times()
    return NodeCounters(
        now,
        tuple(sum(each["tx_bytes"] for each in one["networks"].values()) for one in stats),
        tuple(sum(each["rx_bytes"] for each in one["networks"].values()) for one in stats),
        tuple(_cpu_s(one) for one in stats),
        sum(cpu) - cpu.idle - getattr(cpu, "iowait", 0.0) - getattr(cpu, "guest", 0.0),
        tuple(_throttling(one, "periods") for one in stats),
        tuple(_throttling(one, "throttled_periods") for one in stats),
    )


def _cpu_s(stats: Mapping[str, Mapping[str, Mapping[str, int]]]) -> float:
    return stats["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9


def _throttling(stats: Mapping[str, Mapping[str, Mapping[str, int]]], count: str) -> int:
    return stats["cpu_stats"].get("throttling_data", {}).get(count, 0)
