"""A brain that misbehaves, for the tests of what the plugin then does.

Run as a program: `python liar.py MODE`, with STORMCUT_ZOOKEEPER and STORMCUT_AUTH_FILE set. It
publishes itself as the leader, prints "ready", and "asked" at the first request.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from kazoo.exceptions import NoNodeError

from stormcut.adapters.thrift import values
from stormcut.adapters.thrift.brain import BrainServer
from stormcut.adapters.thrift.seal import Seal
from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.model.cluster import ClusterState, RunningTopology, Slot, Worker
from stormcut.model.plan import Plan, TopologyPlan

Lie = Callable[[ClusterState], Plan]


def plan_on(state: ClusterState, choose: Callable[[int], Slot], fingerprint: str = "") -> Plan:
    """Return a plan with one worker a topology, the i-th in slot ``choose(i)``."""

    def part(index: int, topology: RunningTopology) -> TopologyPlan:
        tasks = tuple(sorted(executor.start_task for executor in topology.executors))
        worker = Worker(choose(index), tasks)
        return TopologyPlan(topology.id, (worker,), "liar", "a lie")

    parts = tuple(part(i, topology) for i, topology in enumerate(state.topologies))
    now = int(time.time() * 1000)
    return Plan(secrets.token_hex(8), fingerprint or state.fingerprint(), now, parts, ())


def first_slot(state: ClusterState) -> Slot:
    supervisor = state.supervisors[0]
    return Slot(supervisor.id, supervisor.ports[0])


def other_state(state: ClusterState) -> Plan:
    return plan_on(state, lambda i: first_slot(state), fingerprint="0" * 64)


def unknown_slots(state: ClusterState) -> Plan:
    return plan_on(state, lambda i: Slot("no-such-supervisor", 6700 + i))


def shared_slot(state: ClusterState) -> Plan:
    return plan_on(state, lambda i: first_slot(state))


def half(state: ClusterState) -> Plan:
    """Leave out the last executor of every topology."""
    plan = plan_on(state, lambda i: first_slot(state))
    parts = tuple(
        replace(part, workers=(replace(part.workers[0], executors=part.workers[0].executors[:-1]),))
        for part in plan.topologies
    )
    return replace(plan, topologies=parts)


LIES: dict[str, Lie] = {
    "other-state": other_state,
    "unknown-slots": unknown_slots,
    "shared-slot": shared_slot,
    "half": half,
    # A plan that this version could well use.
    "next-version": lambda state: plan_on(state, lambda i: first_slot(state)),
}


class Liar:
    """A planner that leads and lies."""

    leads = True

    def __init__(self, lie: Lie) -> None:
        self._lie = lie

    def plan(self, state: ClusterState) -> Plan:
        print("asked", flush=True)
        return self._lie(state)


def serve_socket(answer: bytes | None) -> int:
    """Answer every connection with these bytes, or never; return the port."""
    listener = socket.create_server(("127.0.0.1", 0))
    kept = []

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            print("asked", flush=True)
            if answer is not None:
                connection.sendall(answer)
            kept.append(connection)

    threading.Thread(target=accept, daemon=True).start()
    return int(listener.getsockname()[1])


def serve(mode: str, seal: Seal) -> int:
    """Start the misbehaving server of a mode; return its port."""
    if mode == "hang":
        return serve_socket(None)
    if mode == "garbage":
        return serve_socket(b"HTTP/1.1 418 I'm a teapot\r\n\r\n" * 40)
    if mode == "huge":
        return serve_socket(b"\x7f\xff\xff\xff")
    if mode == "next-version":
        values.PROTOCOL_VERSION += 1
    server = BrainServer(Liar(LIES[mode]), "liar", seal, "127.0.0.1", 0)
    server.start()
    return server.port


def main() -> None:
    credentials = read_auth_file(Path(os.environ["STORMCUT_AUTH_FILE"]))
    with connected(os.environ["STORMCUT_ZOOKEEPER"], credentials) as client:
        port = serve(sys.argv[1], client.seal)
        address = {"version": 1, "id": "liar", "host": "127.0.0.1", "port": port}
        path = StormcutNodes(client).path("leader")
        with suppress(NoNodeError):  # of the brain before, killed: its session may not have ended
            client.delete(path)
        client.create(path, json.dumps(address).encode(), ephemeral=True, makepath=True)
        print("ready", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
