"""How long a brain takes for many topologies at once, and when little has changed.

Run by hand, on a machine that does nothing else (some minutes):

    python -m benchmarks.speed.brain_scale --output docs/results/growth.md

A request is decoded, checked, answered and the answer encoded, as over Thrift, without the network
and ZooKeeper. Topologies have four components in a line; measured ones send from each executor to
ten of the next component, at rates that differ a thousandfold, tuples of 200 bytes. Nodes have
800 % CPU and ten slots and are loaded to 60 %.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.machine import made_by
from benchmarks.page import write_page
from stormcut.adapters.machine.clock import SystemClock, new_id
from stormcut.adapters.machine.garbage_collector import collect_seldom
from stormcut.adapters.thrift.decode import Decoder
from stormcut.adapters.thrift.values import (
    BinaryProtocol,
    WriteBuffer,
    encode_plan,
    from_state_struct,
    idl,
    to_state_struct,
)
from stormcut.control.brain import Brain
from stormcut.control.decide.adviser import Settings
from stormcut.control.decide.wording import LATER
from stormcut.control.gate.ledger import Restarts
from stormcut.control.orders import Orders, Undo
from stormcut.control.ports import Record
from stormcut.control.review.reviews import Review
from stormcut.model.cluster import (
    ClusterState,
    RunningExecutor,
    RunningTopology,
    Slot,
    Subscription,
    Supervisor,
    Worker,
)
from stormcut.model.plan import Plan
from stormcut.model.profile import ExecutorLoad, Profile, TaskTraffic

SIZES = (
    (1, 1_000),
    (10, 100),
    (10, 300),
    (20, 250),
    (3, 1_000),
    (10, 1_000),
    (1, 10_000),
    (50, 1_000),
)
COMPONENTS, TARGETS = 4, 10
CPU_PERCENT, NODE_CPU, LOAD = 10.0, 800.0, 0.6

PAGE = """\
# A brain for many topologies

{doc}

| topologies x executors | nodes | known | cold | later | no change | one new | a worker lost |
| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |
{rows}

Seconds, wall clock. "Cold": no topology runs yet (declared), or all run, dealt out in turn, and
were profiled at once (measured). "Later": how many more rounds it takes until a better place
was sought for every topology and nothing moves any more, and the longest of them. Goals: 5 s for
50,000 executors from cold, 2 s if one changes.

{made}
"""


class Nowhere:
    """Neither ZooKeeper nor evidence but what is given."""

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        self._profiles = profiles

    def last_plan(self) -> Plan | None:
        """Return none."""
        return None

    def restarts(self) -> tuple[Restarts, ...]:
        """Return none."""
        return ()

    def publish(self, plan: Plan, record: Record) -> None:
        """Encode a plan, as for ZooKeeper."""
        encode_plan(plan)

    def profiles(self) -> Mapping[str, Profile]:
        """Return what was measured."""
        return self._profiles

    def undos(self) -> Mapping[str, Undo]:
        """Return no orders to go back."""
        return {}

    def orders(self) -> Orders:
        """Return none."""
        return Orders()

    def reviews(self) -> tuple[Review, ...]:
        """Return none."""
        return ()


def topology(name: str, executors: int) -> RunningTopology:
    each = executors // COMPONENTS
    return RunningTopology(
        name,
        name,
        max(1, executors // 20),
        tuple(
            RunningExecutor(t, t, f"c{(t - 1) // each}") for t in range(1, COMPONENTS * each + 1)
        ),
        tuple(
            Subscription(f"c{n}", f"c{n + 1}", "default", "shuffle") for n in range(COMPONENTS - 1)
        ),
    )


def profile(running: RunningTopology, rng: np.random.Generator) -> Profile:
    each = len(running.executors) // COMPONENTS
    traffic = []
    for source in range(1, (COMPONENTS - 1) * each + 1):
        first = (source - 1) // each * each + each + 1
        targets = first + rng.choice(each, min(TARGETS, each), replace=False)
        rates = 10.0 ** rng.uniform(0, 3, len(targets))
        traffic += [
            TaskTraffic(source, int(target), float(rate), 200.0)
            for target, rate in zip(targets, rates, strict=True)
        ]
    loads = tuple(
        ExecutorLoad(e.component, e.start_task, e.end_task, CPU_PERCENT, None)
        for e in running.executors
    )
    return Profile(running.id, 100, 160, loads, tuple(traffic))


def dealt(state: ClusterState) -> ClusterState:
    """Return the state as Storm would have dealt it, one worker a node and topology."""
    nodes, ports = state.supervisors, dict.fromkeys((s.id for s in state.supervisors), 0)
    topologies = []
    for at, each in enumerate(state.topologies):
        count = min(each.workers, len(nodes))
        own = [nodes[(at * count + n) % len(nodes)] for n in range(count)]
        workers = []
        for index, node in enumerate(own):
            tasks = tuple(e.start_task for e in each.executors[index::count])
            workers.append(Worker(_slot(node, ports), tasks))
        topologies.append(replace(each, assignment=tuple(workers)))
    return replace(state, topologies=tuple(topologies))


def _slot(node: Supervisor, ports: dict[str, int]) -> Slot:
    port = node.ports[ports[node.id]]
    ports[node.id] += 1
    return Slot(node.id, port)


def after(state: ClusterState, plan: Plan) -> ClusterState:
    parts = {part.topology: part.workers for part in plan.topologies}
    return replace(
        state,
        topologies=tuple(
            replace(t, assignment=parts.get(t.id, t.assignment)) for t in state.topologies
        ),
    )


def asked(brain: Brain, state: ClusterState) -> tuple[Plan, float]:
    """Return the plan for a state that comes over the wire, and how long it took."""
    request = WriteBuffer()
    BinaryProtocol(request).write_struct(to_state_struct(state))
    began = time.monotonic()
    struct = idl.ClusterState()
    Decoder(request.content).into(struct)
    plan = brain.plan(from_state_struct(struct))
    encode_plan(plan)
    return plan, time.monotonic() - began


def settled(brain: Brain, state: ClusterState) -> tuple[ClusterState, int, float]:
    """Return the state in which nothing moves or waits; how many rounds that takes, the longest."""
    rounds, slowest, goes_on = 0, 0.0, True
    while goes_on:
        plan, seconds = asked(brain, state)
        rounds, slowest = rounds + 1, max(slowest, seconds)
        moved = after(state, plan)
        # A plan that changes nothing is the last one, with its reasons.
        reasons = [line["reason"] for line in brain.outlook(settled=False)["topologies"]]
        goes_on = moved != state or any(LATER in reason for reason in reasons)
        state = moved
    return state, rounds, slowest


def row(topologies: int, executors: int, measured: bool) -> str:
    rng = np.random.default_rng(1)
    count = max(2, round(topologies * executors * CPU_PERCENT / (LOAD * NODE_CPU)))
    nodes = tuple(
        Supervisor(f"node-{n:05}", f"h{n}", tuple(range(6700, 6710)), NODE_CPU, 32_768.0)
        for n in range(count)
    )
    names = [f"t{n:03}-1-1700000000" for n in range(topologies)]
    state = ClusterState(nodes, tuple(topology(name, executors) for name in names))
    store = Nowhere({t.id: profile(t, rng) for t in state.topologies} if measured else {})
    brain = Brain(Settings(), store, store, SystemClock(), new_id)
    plan, cold = asked(brain, dealt(state) if measured else state)
    state, rounds, slowest = settled(brain, after(state, plan))
    _, same = asked(brain, state)
    fresh = topology("new-1-1700000001", executors)
    _, new = asked(brain, replace(state, topologies=(*state.topologies, fresh)))
    state, _, _ = settled(brain, state)
    last = state.topologies[-1]
    short = replace(last, assignment=last.assignment[:-1])
    _, lost = asked(brain, replace(state, topologies=(*state.topologies[:-1], short)))
    rest = f"{rounds}: {slowest:.2f}" if measured else "-"
    figures = " | ".join((f"{cold:.2f}", rest, *(f"{each:.2f}" for each in (same, new, lost))))
    known = "measured" if measured else "declared"
    return f"| {topologies} x {executors:,} | {count:,} | {known} | {figures} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    output = parser.parse_args().output
    row(2, 100, measured=True)  # what is loaded once
    collect_seldom()
    rows = []
    for size in SIZES:
        for measured in (False, True):
            rows.append(row(*size, measured))
            print(rows[-1], flush=True)
    doc = (__doc__ or "").split("\n\n", 3)[3].strip()
    write_page(output, PAGE.format(doc=doc, rows="\n".join(rows), made=made_by()))


if __name__ == "__main__":
    main()
