"""What the hook costs: throughput of the taxi topology with and without it, in alternation.

Run by hand, on a machine that does nothing else:

    .stormcut/venv/bin/python benchmarks/hook_overhead.py --pairs 5 > docs/results/hook-overhead.md
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
import time
from pathlib import Path

from stormcut.adapters import home
from stormcut.adapters.local_cluster import LocalCluster
from stormcut.adapters.nimbus import wait_until
from stormcut.adapters.sparse_submit import submit

WITH_HOOK: dict[str, object] = {}
WITHOUT_HOOK: dict[str, object] = {
    "topology.auto.task.hooks": [],
    "topology.multilang.serializer": "org.apache.storm.multilang.JsonSerializer",
}


PAGE = """\
# What the hook costs

Tuples acked per second by the taxi topology (2+2+1+1+1 executors, Python, full speed, 2 workers on
one node), {seconds} s after 20 s of warm-up, each run submitted afresh; with and without
`StormcutHook` and `StormcutSerializer`, which comes first alternates.

| pair | with | without | ratio |
| ---: | ---: | ---: | ---: |
{rows}

Median ratio {median:.3f} (lowest {lowest:.3f}, highest {highest:.3f}): the hook costs {cost:.1f} %
of throughput here, with a spread of {spread:.1f} points between pairs.

Python components spend most of their time on JSON, so this is the cost for streamparse topologies;
for Java components at higher rates it is not measured yet.

Made by `benchmarks/hook_overhead.py --pairs {pairs} --seconds {seconds}` on {machine}, {day}.
"""


def acked_per_second(cluster: LocalCluster, options: dict[str, object], seconds: int) -> float:
    """Return the tuples acked per second by one fresh run at full speed, after a warm-up.

    Every ack is counted (``topology.stats.sample.rate`` 1) so that sampling adds no noise.
    """
    name = f"taxi-{time.monotonic_ns()}"
    fixed = {"rig.rate": 0, "rig.scale": 0.125, "topology.stats.sample.rate": 1.0}
    submit(
        project=home.topologies(),
        topology="taxi",
        name=name,
        nimbus=cluster.nimbus_address,
        workers=2,
        options=fixed | options,
        environment={},
        virtualenv=Path(sys.prefix),
        work_folder=cluster.folder / "sparse" / name,
    )
    nimbus = cluster.nimbus

    def spouts_ack() -> bool:
        spouts = [e for e in nimbus.topology(name).executors if e.is_spout]
        return bool(spouts) and all(e.acked > 0 for e in spouts)

    wait_until(spouts_ack, 150, "every spout acks")
    time.sleep(20)  # the warm-up is a length of time, not a condition
    begin, first = time.monotonic(), nimbus.topology(name).spout_acked
    time.sleep(seconds)
    end, last = time.monotonic(), nimbus.topology(name).spout_acked
    nimbus.kill_topology(name)
    wait_until(
        lambda: all(t.name != name for t in nimbus.cluster().topologies), 60, f"{name} is gone"
    )
    return (last - first) / (end - begin)


def measure(pairs: int, seconds: int) -> list[tuple[float, float]]:
    """Return (with, without) of each pair; which comes first alternates."""
    results = []
    with LocalCluster.up(f"hook-overhead-{os.getpid()}", supervisors=1, slots=2) as cluster:
        for pair in range(pairs):
            order = [WITH_HOOK, WITHOUT_HOOK]
            if pair % 2:
                order.reverse()
            found = {id(options): acked_per_second(cluster, options, seconds) for options in order}
            results.append((found[id(WITH_HOOK)], found[id(WITHOUT_HOOK)]))
            print(f"pair {pair + 1}: {results[-1]}", file=sys.stderr)
    return results


def report(results: list[tuple[float, float]], seconds: int) -> str:
    """Return the Markdown page."""
    ratios = [hooked / bare for hooked, bare in results]
    rows = [
        f"| {i} | {hooked:,.0f} | {bare:,.0f} | {ratio:.3f} |"
        for i, ((hooked, bare), ratio) in enumerate(zip(results, ratios, strict=True), start=1)
    ]
    return PAGE.format(
        rows="\n".join(rows),
        seconds=seconds,
        median=statistics.median(ratios),
        lowest=min(ratios),
        highest=max(ratios),
        cost=100 * (1 - statistics.median(ratios)),
        spread=100 * (max(ratios) - min(ratios)),
        pairs=len(results),
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        day=time.strftime("%Y-%m-%d"),
    )


def main() -> None:
    """Parse the command line, measure, print the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=40)
    options = parser.parse_args()
    print(report(measure(options.pairs, options.seconds), options.seconds), end="")


if __name__ == "__main__":
    main()
