import socket
import struct
from contextlib import suppress
from dataclasses import replace

import pytest
from brain_clusters import clusters, profile_of, supervisors, topology
from conftest_zookeeper import PATIENCE_S, await_true
from hypothesis import given
from hypothesis import strategies as st

from stormcut.adapters import thrift_brain
from stormcut.adapters.thrift_brain import BrainClient, BrainServer
from stormcut.adapters.thrift_values import (
    MAX_MESSAGE_BYTES,
    ReadBuffer,
    WriteBuffer,
    binary_protocol,
    check_version,
    decode_plan,
    encode_plan,
    from_state_struct,
    idl,
    to_state_struct,
)
from stormcut.model.cluster import ClusterState, Described, Slot, Worker
from stormcut.model.errors import InvalidInput
from stormcut.model.plan import Declined, Plan, TopologyPlan

STATE = ClusterState(supervisors(2), (topology("t"),))


class EchoPlanner:
    """Plans nothing, for whatever state comes."""

    leads = True

    def plan(self, state):
        return Plan(
            "p",
            state.fingerprint(),
            5,
            (TopologyPlan("t", (Worker(Slot("n", 1), (1, 2)),), "a", "r"),),
            (Declined("u", "d"),),
        )


@pytest.fixture
def server():
    server = BrainServer(EchoPlanner(), "brain-1", "127.0.0.1", 0)
    server.start()
    yield server
    server.close()


@pytest.fixture
def client(server):
    return BrainClient("127.0.0.1", server.port, PATIENCE_S)


def raw(server, content):
    """Send bytes and return what comes back until the server closes or resets."""
    received = b""
    with (
        suppress(OSError),
        socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as connection,
    ):
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        while part := connection.recv(4096):
            received += part
    return received


def round_trip(struct):
    out = WriteBuffer()
    binary_protocol(out).write_struct(struct)
    read = type(struct)()
    binary_protocol(ReadBuffer(out.content)).read_struct(read)
    return read


def test_a_plan_comes_back(client):
    assert client.plan(STATE) == EchoPlanner().plan(STATE)


class Seer:
    """Foresees what it is asked about."""

    def described(self):
        return Described(STATE, 1_700_000_000_123)

    def preview(self, topology, profile, former):
        return {"topology": topology, "profile": repr(profile), "former": repr(former)}


WORKERS = (Worker(Slot("n", 1), (1, 2)), Worker(Slot("n", 2), (3,)))


@pytest.mark.parametrize("profile", [None, profile_of(STATE.topologies[0])])
@pytest.mark.parametrize("former", [None, WORKERS])
def test_what_people_ask_arrives_and_is_answered(profile, former):
    server = BrainServer(EchoPlanner(), "b", "127.0.0.1", 0, Seer())
    server.start()
    try:
        client = BrainClient("127.0.0.1", server.port, 5.0)
        assert client.described() == Seer().described()
        assert client.preview("t", profile, former) == Seer().preview("t", profile, former)
    finally:
        server.close()


def test_a_brain_that_only_does_as_told_foresees_nothing(client):
    for ask in (client.described, lambda: client.preview("t", None, None)):
        with pytest.raises(InvalidInput, match="foresees nothing"):
            ask()


def test_health_tells_of_plans(client):
    client.plan(STATE)
    health = client.health()
    assert (health.brain, health.leader, health.plans_served, health.last_plan) == (
        "brain-1",
        True,
        1,
        "p",
    )


@given(clusters())
def test_every_state_and_plan_survives_the_wire(cluster):
    state, _ = cluster
    assert from_state_struct(round_trip(to_state_struct(state))) == state
    plan = EchoPlanner().plan(state)
    assert decode_plan(encode_plan(plan), "here") == plan


def test_only_the_leader_plans(server, client):
    server._planner.leads = False
    try:
        with pytest.raises(InvalidInput, match="not the leader"):
            client.plan(STATE)
        assert client.health().leader is False
    finally:
        server._planner.leads = True


def test_a_false_fingerprint_is_refused(client, monkeypatch):
    struct = to_state_struct(STATE)
    struct.fingerprint = "0" * 64
    monkeypatch.setattr(thrift_brain, "to_state_struct", lambda state: struct)
    with pytest.raises(InvalidInput, match="is not that of its content"):
        client.plan(STATE)


def test_a_newer_state_is_refused(client, monkeypatch):
    struct = to_state_struct(STATE)
    struct.version = 2
    monkeypatch.setattr(thrift_brain, "to_state_struct", lambda state: struct)
    with pytest.raises(InvalidInput, match=r"protocol version 2, this stormcut speaks up to 1"):
        client.plan(STATE)


def test_a_newer_plan_is_refused(client, monkeypatch):
    monkeypatch.setattr(thrift_brain, "to_plan_struct", lambda plan: idl.Plan(version=2))
    with pytest.raises(InvalidInput, match="plan: is of protocol version 2"):
        client.plan(STATE)


@pytest.mark.parametrize("version", [None, 0, -1, "1"])
def test_a_version_that_is_none_is_refused(version):
    with pytest.raises(InvalidInput, match="no usable protocol version"):
        check_version(version, "plan")


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda s: setattr(s, "topologies", None), "topologies is missing"),
        (lambda s: setattr(s.topologies[0], "id", None), r"topologies\[0\]: field id is missing"),
        (lambda s: setattr(s.supervisors[1], "host", b"\xff"), "not UTF-8"),
        (lambda s: setattr(s.supervisors[1], "meta", {b"\xff": "x"}), "not UTF-8"),
        (lambda s: setattr(s.supervisors[1], "id", "n0"), "supervisor n0 occurs twice"),
    ],
)
def test_an_incomplete_state_is_refused_with_the_place(damage, says):
    struct = to_state_struct(STATE)
    damage(struct)
    with pytest.raises(InvalidInput, match=says):
        from_state_struct(struct)


def test_a_bug_is_a_refusal_and_leaves_the_server_alive(server, client, monkeypatch, caplog):
    monkeypatch.setattr(EchoPlanner, "plan", lambda self, state: 1 / 0)
    with pytest.raises(InvalidInput, match="internal error, see the brain's log"):
        client.plan(STATE)
    assert "a bug in stormcut" in caplog.text
    assert client.health().leader


@pytest.mark.parametrize("length", [MAX_MESSAGE_BYTES + 1, 2**31 - 1, 0, -1])
def test_an_impossible_length_ends_the_connection_only(server, client, caplog, length):
    assert raw(server, struct.pack("!i", length)) == b""
    await_true(lambda: f"a frame of {length} bytes" in caplog.text)
    assert client.plan(STATE)


def test_an_announced_length_takes_no_memory(server, client):
    """64 MiB announced by 30 clients that send nothing: read as it comes, never allocated."""
    crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(30)]
    try:
        for connection in crowd:
            connection.sendall(struct.pack("!i", MAX_MESSAGE_BYTES))
        assert client.plan(STATE)
    finally:
        for connection in crowd:
            connection.close()


def test_a_state_above_the_limit_is_not_sent(client, monkeypatch):
    monkeypatch.setattr(thrift_brain, "MAX_MESSAGE_BYTES", 100)
    with pytest.raises(InvalidInput, match="allowed are 100"):
        client.plan(STATE)


def test_a_slow_client_is_cut_off(server, client, caplog, monkeypatch):
    monkeypatch.setattr(thrift_brain, "CLIENT_SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as slow:
        slow.sendall(struct.pack("!i", 1000) + b"x")
        assert slow.recv(1) == b""
    await_true(lambda: "only 1 of 1000 bytes came in time" in caplog.text)


def test_more_clients_than_seats_are_turned_away(caplog, monkeypatch):
    monkeypatch.setattr(thrift_brain, "MAX_CLIENTS", 1)
    server = BrainServer(EchoPlanner(), "b", "127.0.0.1", 0)
    server.start()
    try:
        with socket.create_connection(("127.0.0.1", server.port)) as first:
            first.sendall(b"\0")
            assert raw(server, b"") == b""
        await_true(lambda: "one more from 127.0.0.1 refused" in caplog.text)
        client = BrainClient("127.0.0.1", server.port, PATIENCE_S)
        await_true(lambda: suppressed(client.health))
    finally:
        server.close()


def suppressed(ask):
    with suppress(InvalidInput):
        return ask()


@given(content=st.binary(max_size=200), framed=st.booleans())
def test_garbage_never_stops_the_server(content, framed):
    server = BrainServer(EchoPlanner(), "b", "127.0.0.1", 0)
    server.start()
    try:
        raw(server, (struct.pack("!i", len(content)) if framed else b"") + content)
        assert BrainClient("127.0.0.1", server.port, PATIENCE_S).plan(STATE)
    finally:
        server.close()


@given(at=st.integers(0, 10_000), byte=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_state_is_read_or_refused(at, byte, cut):
    out = WriteBuffer()
    binary_protocol(out).write_struct(to_state_struct(STATE))
    content = bytearray(out.content)
    content[at % len(content)] = byte
    if cut:
        content = content[: at % len(content)]
    struct_ = idl.ClusterState()
    try:
        binary_protocol(ReadBuffer(bytes(content))).read_struct(struct_)
        state = from_state_struct(struct_)
    except Exception as error:
        assert not isinstance(error, MemoryError)
    else:
        assert state.fingerprint() == STATE.fingerprint()


@pytest.mark.parametrize("damage", [b"", b"\x00", b"\x0f\x00\x01"])
def test_a_damaged_plan_is_refused(damage):
    with pytest.raises(InvalidInput, match="node plan"):
        decode_plan(damage, "node plan")


def test_a_taken_port_is_one_clear_error(server):
    with pytest.raises(InvalidInput, match="cannot listen"):
        BrainServer(EchoPlanner(), "b", "127.0.0.1", server.port)


def test_a_brain_that_is_not_there_is_one_clear_error(server):
    server.close()
    with pytest.raises(InvalidInput, match="does not answer"):
        BrainClient("127.0.0.1", server.port, 1.0).plan(replace(STATE))
