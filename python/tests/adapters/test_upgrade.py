"""Brains, shims and commands of one PROTOCOL_VERSION understand each other, whichever is older."""

import socket
import time
from contextlib import closing

import pytest
from brain_clusters import dealt, supervisors, topology
from conftest_zookeeper import PATIENCE_S
from first_protocol import FIRST, FirstBrain
from thriftpy2.thrift import TClient

from stormcut.adapters.thrift.brain import BrainServer
from stormcut.adapters.thrift.client import BrainClient
from stormcut.adapters.thrift.decode import Decoder
from stormcut.adapters.thrift.frames import receive_frame, send_frame
from stormcut.adapters.thrift.seal import Seal
from stormcut.adapters.thrift.values import (
    PROTOCOL_VERSION,
    BinaryProtocol,
    ReadBuffer,
    WriteBuffer,
    idl,
)
from stormcut.model.cluster import ClusterState, Slot
from stormcut.model.errors import InvalidInput
from stormcut.model.plan import Declined, Plan, TopologyPlan

SEAL = Seal("stormcut:geheim")
TAXI = dealt(topology("taxi-1-17", (2, 2)), [Slot("n0", 6700), Slot("n1", 6700)])
STATE = ClusterState(supervisors(2), (TAXI,))
STRUCTS = [
    *("Executor", "Stream", "Slot", "Worker", "Topology", "Supervisor", "ClusterState"),
    *("TopologyPlan", "Declined", "Plan", "Health", "Refusal"),
]


def fields(kind):
    """Return number -> (type, name, whether it is required) of a struct, inner structs by name."""
    return {
        number: (*(_named(part) for part in spec[:-1]), spec[-1])
        for number, spec in kind.thrift_spec.items()
    }


def _named(part):
    if isinstance(part, tuple):
        return tuple(map(_named, part))
    return part.__name__ if isinstance(part, type) else part


def test_the_kept_file_is_of_todays_version():
    assert FIRST.PROTOCOL_VERSION == PROTOCOL_VERSION
    assert FIRST.MAX_MESSAGE_BYTES == idl.MAX_MESSAGE_BYTES


@pytest.mark.parametrize("name", STRUCTS)
def test_fields_are_only_added_and_optional(name):
    then, now = fields(getattr(FIRST, name)), fields(getattr(idl, name))
    assert {number: now.get(number) for number in then} == then
    assert not [number for number in now.keys() - then.keys() if now[number][-1]]


def test_methods_are_only_added():
    assert {*FIRST.Brain.thrift_services} <= {*idl.Brain.thrift_services}
    for method in FIRST.Brain.thrift_services:
        for kind in ("args", "result"):
            then = fields(getattr(FIRST.Brain, f"{method}_{kind}"))
            assert fields(getattr(idl.Brain, f"{method}_{kind}")) == then


@pytest.fixture
def first_brain():
    with closing(FirstBrain("b", SEAL)) as brain:
        brain.start()
        yield brain


def test_todays_client_asks_the_first_brain(first_brain):
    client = BrainClient("b", SEAL, "127.0.0.1", first_brain.port, PATIENCE_S)
    (part,) = client.plan(STATE).topologies
    assert part.topology == TAXI.id
    assert client.health().leader
    for ask in (client.described, client.outlook, lambda: client.preview("t", None, None)):
        with pytest.raises(InvalidInput, match="older than this stormcut"):
            ask()


class Planner:
    leads = True

    def plan(self, state):
        parts = (TopologyPlan(TAXI.id, state.topologies[0].assignment, "cut", "ü"),)
        return Plan("p", state.fingerprint(), 5, parts, (Declined("u", "no"),))


def first_state():
    """Return `STATE` as the first shim described it."""
    (taxi,) = STATE.topologies
    workers = [
        FIRST.Worker(slot=FIRST.Slot(node=w.slot.node, port=w.slot.port), executors=[*w.executors])
        for w in taxi.assignment
    ]
    nodes = [
        FIRST.Supervisor(
            id=s.id,
            host=s.host,
            ports=[*s.ports],
            cpu_percent=s.cpu_percent,
            memory_mb=s.memory_mb,
            meta={},
        )
        for s in STATE.supervisors
    ]
    described = FIRST.Topology(
        id=taxi.id,
        name=taxi.name,
        workers=taxi.workers,
        executors=[FIRST.Executor(**vars(each)) for each in taxi.executors],
        streams=[FIRST.Stream(**vars(each)) for each in taxi.streams],
        assignment=workers,
    )
    return FIRST.ClusterState(
        version=1, fingerprint=STATE.fingerprint(), supervisors=nodes, topologies=[described]
    )


class FirstTransport(ReadBuffer, WriteBuffer):
    """One exchange with a brain at a port."""

    def __init__(self, port):
        ReadBuffer.__init__(self, b"")
        WriteBuffer.__init__(self)
        self._port = port

    def flush(self):
        request, nonce = SEAL.request("b", self.content)
        with socket.create_connection(("127.0.0.1", self._port), PATIENCE_S) as connection:
            send_frame(connection, request, time.monotonic() + PATIENCE_S)
            answer = receive_frame(connection, time.monotonic() + PATIENCE_S)
        self.decoder = Decoder(SEAL.open_reply(nonce, answer))


def test_the_first_client_asks_todays_brain():
    with closing(BrainServer(Planner(), "b", SEAL, "127.0.0.1", 0)) as brain:
        brain.start()
        protocol = BinaryProtocol(FirstTransport(brain.port))
        plan = TClient(FIRST.Brain, protocol, protocol).plan(first_state())
    assert (plan.version, plan.fingerprint) == (1, STATE.fingerprint())
    (part,) = plan.topologies
    assert {(w.slot.node, tuple(w.executors)) for w in part.workers} == {
        (w.slot.node, w.executors) for w in TAXI.assignment
    }
