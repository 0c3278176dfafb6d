import random
import socket
import struct
import threading
import tracemalloc
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace

import psutil
import pytest
from brain_clusters import clusters, profile_of, supervisors, topology
from conftest_zookeeper import PATIENCE_S, await_true
from damage import damaged, messages
from hypothesis import given
from hypothesis import strategies as st
from thriftpy2.protocol.exc import TProtocolException

from stormcut.adapters.thrift import brain as thrift_brain
from stormcut.adapters.thrift import client as thrift_client
from stormcut.adapters.thrift import decode as thrift_decode
from stormcut.adapters.thrift import frames as thrift_frames
from stormcut.adapters.thrift import seal as seal_module
from stormcut.adapters.thrift.brain import KINDS, OUTCOMES, UNREAD, BrainServer
from stormcut.adapters.thrift.client import BrainClient, Heartbeat
from stormcut.adapters.thrift.decode import Decoder, Malformed
from stormcut.adapters.thrift.frames import MAX_FRAME_BYTES
from stormcut.adapters.thrift.seal import HEADER_BYTES, BadSeal, Seal, zookeeper_password
from stormcut.adapters.thrift.values import (
    BinaryProtocol,
    ReadBuffer,
    WriteBuffer,
    check_version,
    decode_plan,
    encode_plan,
    from_state_struct,
    idl,
    to_state_struct,
)
from stormcut.control.orders import Override, Undo
from stormcut.control.ports import Unavailable
from stormcut.model.cluster import ClusterState, Described, Slot, Worker
from stormcut.model.errors import InvalidInput
from stormcut.model.plan import Declined, Plan, TopologyPlan

SEAL = Seal("stormcut:geheim")
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


@contextmanager
def serving(planner, previewer=None, tally=None):
    server = BrainServer(planner, "brain-1", SEAL, "127.0.0.1", 0, previewer, tally)
    server.start()
    try:
        yield server
    finally:
        server.close()


def client_of(server, seconds=PATIENCE_S, brain="brain-1", seal=SEAL):
    return BrainClient(brain, seal, "127.0.0.1", server.port, seconds)


@pytest.fixture
def server():
    with serving(EchoPlanner()) as server:
        yield server


@pytest.fixture
def client(server):
    return client_of(server)


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


def encoded(struct):
    out = WriteBuffer()
    BinaryProtocol(out).write_struct(struct)
    return out.content


def decoded(content, kind):
    value = kind()
    Decoder(content).into(value)
    return value


def round_trip(struct):
    return decoded(encoded(struct), type(struct))


def test_a_plan_comes_back(client):
    assert client.plan(STATE) == EchoPlanner().plan(STATE)


class Seer:
    """Foresees what it is asked about."""

    def described(self):
        return Described(STATE, 1_700_000_000_123)

    def preview(self, topology, profile, undo):
        return {"topology": topology, "profile": repr(profile), "undo": repr(undo)}

    def outlook(self):
        return {"proposal": "3f2a91c0", "reason": "weil ü"}


WORKERS = (Worker(Slot("n", 1), (1, 2)), Worker(Slot("n", 2), (3,)))


@pytest.mark.parametrize("profile", [None, profile_of(STATE.topologies[0])])
@pytest.mark.parametrize("undo", [None, Undo(WORKERS), Undo(WORKERS, override=Override("fire"))])
def test_what_people_ask_arrives_and_is_answered(profile, undo):
    with serving(EchoPlanner(), Seer()) as server:
        client = client_of(server)
        assert client.described() == Seer().described()
        assert client.preview("t", profile, undo) == Seer().preview("t", profile, undo)
        assert client.outlook() == Seer().outlook()


def test_a_brain_that_only_does_as_told_previews_nothing(client):
    for ask in (client.described, client.outlook, lambda: client.preview("t", None, None)):
        with pytest.raises(InvalidInput, match="previews nothing"):
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
    monkeypatch.setattr(thrift_client, "to_state_struct", lambda state: struct)
    with pytest.raises(InvalidInput, match="is not that of its content"):
        client.plan(STATE)


def test_a_newer_state_is_refused(client, monkeypatch):
    struct = to_state_struct(STATE)
    struct.version = 2
    monkeypatch.setattr(thrift_client, "to_state_struct", lambda state: struct)
    with pytest.raises(InvalidInput, match=r"protocol version 2, this stormcut speaks up to 1"):
        client.plan(STATE)


def test_a_newer_plan_is_refused(client, monkeypatch):
    newer = idl.Plan(version=2, id="p", fingerprint="", created_ms=0, topologies=[], declined=[])
    monkeypatch.setattr(thrift_brain, "to_plan_struct", lambda plan: newer)
    with pytest.raises(InvalidInput, match="plan: is of protocol version 2"):
        client.plan(STATE)


@pytest.mark.parametrize("version", [None, 0, -1, "1"])
def test_a_version_that_is_none_is_refused(version):
    with pytest.raises(InvalidInput, match="no usable protocol version"):
        check_version(version, "plan")


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda s: setattr(s, "topologies", None), "^field topologies is missing"),
        (lambda s: setattr(s.topologies[0], "id", None), r"topologies\[0\]: field id is missing"),
        (lambda s: setattr(s.supervisors[1], "host", b"\xff"), r"rs\[1\]\.host: is not UTF-8"),
        (lambda s: setattr(s.supervisors[1], "meta", {b"\xff": "x"}), "not UTF-8"),
        (lambda s: setattr(s.supervisors[1], "id", "n0"), "supervisor n0 occurs twice"),
    ],
)
def test_an_incomplete_state_is_refused_with_the_place(damage, says):
    struct = to_state_struct(STATE)
    damage(struct)
    with pytest.raises((InvalidInput, Malformed), match=says):
        from_state_struct(round_trip(struct))


def test_a_bug_is_a_refusal_and_leaves_the_server_alive(server, client, monkeypatch, caplog):
    monkeypatch.setattr(EchoPlanner, "plan", lambda self, state: 1 / 0)
    with pytest.raises(InvalidInput, match="internal error, see the brain's log"):
        client.plan(STATE)
    assert "a bug in stormcut" in caplog.text
    assert client.health().leader


def test_a_plan_that_was_not_published_is_named_in_the_log(server, client, monkeypatch, caplog):
    def plan(self, state):
        raise Unavailable("plan p9 was not published", "p9")

    monkeypatch.setattr(EchoPlanner, "plan", plan)
    with pytest.raises(InvalidInput, match="p9 was not published"):
        client.plan(STATE)
    assert [record.plan for record in caplog.records] == ["p9"]


@pytest.mark.parametrize("length", [MAX_FRAME_BYTES + 1, 2**31 - 1, 0, -1])
def test_an_impossible_length_ends_the_connection_only(server, client, caplog, length):
    assert raw(server, struct.pack("!i", length)) == b""
    await_true(lambda: f"a frame of {length} bytes" in caplog.text)
    assert client.plan(STATE)


def test_an_announced_length_takes_no_memory(server, client):
    """64 MiB announced by 30 clients that send nothing: read as it comes, never allocated."""
    crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(30)]
    try:
        for connection in crowd:
            connection.sendall(struct.pack("!i", MAX_FRAME_BYTES))
        assert client.plan(STATE)
    finally:
        for connection in crowd:
            connection.close()


def resident_bytes():
    return psutil.Process().memory_info().rss


def test_who_does_not_know_the_secret_fills_no_memory(server, client, caplog):
    """8 clients send 64 MiB each: a request is read on as its head is known to be sealed."""
    size = MAX_FRAME_BYTES - HEADER_BYTES
    foreign, _ = Seal("stormcut:falsch").request("brain-1", b"")
    before = resident_bytes()
    crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(8)]
    try:
        for connection in crowd:
            connection.settimeout(PATIENCE_S)
            connection.sendall(struct.pack("!i", MAX_FRAME_BYTES) + foreign)
            with suppress(OSError):
                for _ in range(size >> 20):
                    connection.sendall(bytes(1 << 20))
                raise AssertionError("all of it was read")
        assert resident_bytes() - before < 32 << 20
        await_true(lambda: caplog.text.count("sealed by another secret") == len(crowd))
        assert client.plan(STATE)
    finally:
        for connection in crowd:
            connection.close()


def test_who_is_refused_sees_the_end_and_no_reset(server):
    """A close with bytes unread would reset the connection."""
    content = b"SCT\x02" + bytes(100_000)
    with socket.create_connection(("127.0.0.1", server.port), PATIENCE_S) as connection:
        connection.sendall(struct.pack("!i", len(content)) + content)
        assert connection.recv(1) == b""


def test_a_sealed_head_goes_with_one_length_alone(server, caplog):
    content, _ = SEAL.request("brain-1", b"message")
    assert raw(server, struct.pack("!i", len(content) + 1) + content + b"x") == b""
    await_true(lambda: "sealed by another secret, or for another brain" in caplog.text)


def test_a_sealed_head_goes_with_one_message_alone(server, caplog):
    content, _ = SEAL.request("brain-1", b"message")
    assert raw(server, struct.pack("!i", len(content)) + content[:-1] + b"x") == b""
    await_true(lambda: "not what its head has sealed" in caplog.text)


def test_an_older_seal_is_named(server, caplog):
    content = struct.pack("!i", 100) + b"SCT\x01" + bytes(96)
    assert raw(server, content) == b""
    await_true(lambda: "another version of stormcut" in caplog.text)


def test_requests_together_have_a_budget(caplog, monkeypatch):
    monkeypatch.setattr(thrift_brain, "MAX_BYTES", 300)
    content, _ = SEAL.request("brain-1", bytes(200))
    with serving(EchoPlanner()) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as first:
            first.sendall(struct.pack("!i", len(content)) + content[:-1])
            again = SEAL.request("brain-1", bytes(200))[0]

            def is_refused():
                raw(server, struct.pack("!i", len(again)) + again)
                return "the requests under way leave 100" in caplog.text

            await_true(is_refused)
        # What it has taken is given back when it leaves.
        await_true(lambda: suppressed(client_of(server).health))


def test_previews_are_computed_one_at_a_time():
    class Slow(Seer):
        running, most, lock = 0, 0, threading.Lock()

        def preview(self, *what):
            with self.lock:
                self.running += 1
                self.most = max(self.most, self.running)
            found = super().preview(*what)
            threading.Event().wait(0.05)
            with self.lock:
                self.running -= 1
            return found

    seer = Slow()
    with serving(EchoPlanner(), seer) as server, ThreadPoolExecutor(8) as pool:
        client = client_of(server)
        asked = [pool.submit(client.preview, "t", None, None) for _ in range(8)]
        assert all(each.result() for each in asked)
    assert seer.most == 1


def test_zookeepers_password_opens_no_seal():
    secret = "stormcut:geheim"
    told = f"stormcut:{zookeeper_password(secret)}"
    assert "geheim" not in told
    content, nonce = Seal(told).request("brain-1", b"message")
    with pytest.raises(BadSeal):
        Seal(secret).open_head("brain-1", content[:HEADER_BYTES], len(b"message"))
    with pytest.raises(BadSeal):
        Seal(secret).open_reply(nonce, Seal(told).reply(nonce, b"message"))


def test_a_state_above_the_limit_is_not_sent(client, monkeypatch):
    monkeypatch.setattr(thrift_frames, "MAX_FRAME_BYTES", 100)
    with pytest.raises(InvalidInput, match="allowed are 100"):
        client.plan(STATE)


def test_a_slow_client_is_cut_off(server, client, caplog, monkeypatch):
    monkeypatch.setattr(thrift_brain, "CLIENT_SECONDS", 0.3)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S) as slow:
        slow.sendall(struct.pack("!i", 1000) + b"x")
        assert slow.recv(1) == b""
    await_true(lambda: "only 1 of 92 bytes came in time" in caplog.text)


def test_more_clients_than_seats_are_turned_away(caplog, monkeypatch):
    monkeypatch.setattr(thrift_brain, "MAX_CLIENTS", 1)
    with serving(EchoPlanner()) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as first:
            first.sendall(b"\0")
            assert raw(server, b"") == b""
        await_true(lambda: "one more from 127.0.0.1 refused" in caplog.text)
        client = client_of(server)
        await_true(lambda: suppressed(client.health))


def suppressed(ask):
    with suppress(InvalidInput):
        return ask()


@given(content=st.binary(max_size=200), framed=st.booleans())
def test_garbage_never_stops_the_server(content, framed):
    with serving(EchoPlanner()) as server:
        raw(server, (struct.pack("!i", len(content)) if framed else b"") + content)
        assert client_of(server).plan(STATE)


@given(at=st.integers(0, 10_000), byte=st.integers(0, 255), cut=st.booleans())
def test_a_damaged_state_is_read_or_refused(at, byte, cut):
    content = bytearray(encoded(to_state_struct(STATE)))
    content[at % len(content)] = byte
    if cut:
        content = content[: at % len(content)]
    try:
        state = from_state_struct(decoded(bytes(content), idl.ClusterState))
    except (Malformed, InvalidInput):
        pass
    else:
        assert state.fingerprint() == STATE.fingerprint()


@pytest.mark.parametrize("damage", [b"", b"\x00", b"\x0f\x00\x01"])
def test_a_damaged_plan_is_refused(damage):
    with pytest.raises(InvalidInput, match="node plan"):
        decode_plan(damage, "node plan")


def test_a_taken_port_is_one_clear_error(server):
    with pytest.raises(InvalidInput, match="cannot listen"):
        BrainServer(EchoPlanner(), "b", SEAL, "127.0.0.1", server.port)


def test_a_brain_that_is_not_there_is_one_clear_error(server):
    server.close()
    with pytest.raises(InvalidInput, match="does not answer"):
        client_of(server, 1.0).plan(replace(STATE))


class Counted:
    """A tally, and a planner that can refuse."""

    def __init__(self):
        self.counts, self.leads = Counter(), True

    def count(self, kind, outcome):
        assert kind in (*KINDS, UNREAD) and outcome in OUTCOMES
        self.counts[kind, outcome] += 1

    def plan(self, state):
        return EchoPlanner().plan(state)


def test_every_question_is_counted_once():
    counted = Counted()
    with serving(counted, Seer(), counted) as server:
        client = client_of(server)
        client.health()
        client.plan(STATE)
        client.described()
        client.preview("t", None, None)
        counted.leads = False
        for ask in (lambda: client.plan(STATE), client.described):
            with pytest.raises(InvalidInput, match="not the leader"):
                ask()
        counted.leads = True
        content, _ = SEAL.request("brain-1", encoded_call("last_state"))
        frame = struct.pack("!i", len(content)) + content
        raw(server, frame)
        raw(server, frame)
        raw(server, b"\0\0\0\1x")
        await_true(lambda: counted.counts[UNREAD, "refused"])
    assert counted.counts == {
        ("health", "served"): 1,
        ("plan", "served"): 1,
        ("plan", "refused"): 1,
        ("last_state", "served"): 2,
        ("last_state", "refused"): 2,
        ("preview", "served"): 1,
        (UNREAD, "refused"): 1,
    }


class TestStrangers:
    """Who does not know the secret is neither answered nor decoded, and cannot answer either."""

    def test_unsealed_requests_are_not_decoded(self, server, client, caplog, monkeypatch):
        monkeypatch.setattr(BrainServer, "_answer", lambda self, request: 1 / 0)
        frame = struct.pack("!i", 100) + b"\x80\x01\0\1" + b"x" * 96
        assert raw(server, frame) == b""
        await_true(lambda: "not sealed by the secret of the auth file" in caplog.text)

    @pytest.mark.parametrize(
        "wrong", [{"seal": Seal("stormcut:falsch")}, {"brain": "brain-before"}]
    )
    def test_another_secret_or_brain_is_not_answered(self, server, wrong, caplog):
        with pytest.raises(InvalidInput, match="does not answer"):
            client_of(server, **wrong).plan(STATE)
        await_true(lambda: "sealed by another secret, or for another brain" in caplog.text)

    def test_the_same_request_is_answered_once(self, server, client):
        content, nonce = SEAL.request("brain-1", encoded_call("last_state"))
        frame = struct.pack("!i", len(content)) + content
        first, second = raw(server, frame), raw(server, frame)
        assert b"came before" not in SEAL.open_reply(nonce, first[4:])
        assert b"came before" in SEAL.open_reply(nonce, second[4:])

    def test_clocks_far_apart_are_named(self, client, monkeypatch):
        monkeypatch.setattr(seal_module, "SKEW_SECONDS", -1)
        with pytest.raises(InvalidInput, match="the clocks of asker and brain are 0 s apart"):
            client.plan(STATE)

    def test_an_answer_to_another_question_is_not_believed(self, client, monkeypatch):
        honest = Seal.reply
        monkeypatch.setattr(Seal, "reply", lambda self, nonce, p: honest(self, nonce[::-1], p))
        with pytest.raises(InvalidInput, match="is sealed by another secret, or for another"):
            client.plan(STATE)

    def test_a_secret_is_in_no_representation(self):
        assert "geheim" not in repr(SEAL)


def encoded_call(method):
    out = WriteBuffer()
    protocol = BinaryProtocol(out)
    protocol.write_message_begin(method, 1, 0)
    protocol.write_struct(getattr(idl.Brain, f"{method}_args")())
    return out.content


class TestDecoding:
    """What who knows the secret may send: bounded by the bytes that come."""

    @pytest.mark.parametrize("field", [5, 100])
    @pytest.mark.parametrize("element", [0, 1, 2, 12])
    def test_a_count_beyond_the_bytes_is_refused(self, field, element):
        content = struct.pack("!bhbi", 15, field, element, 2**31 - 1) + b"\0"
        with pytest.raises(Malformed, match=r"more than the message has room|garbled|unknown type"):
            decoded(content, idl.Plan)

    def test_elements_without_their_required_fields_take_no_memory(self):
        content = struct.pack("!bhbi", 15, 3, 12, 2_000_000) + b"\0" * 2_000_000
        tracemalloc.start()
        try:
            with pytest.raises(Malformed, match="room"):
                decoded(content, idl.ClusterState)
            assert tracemalloc.get_traced_memory()[1] < 100_000
        finally:
            tracemalloc.stop()

    def test_nesting_is_bounded(self):
        with pytest.raises(Malformed, match="nests deeper"):
            decoded(b"\x0c\x03\xe8" * 1000, idl.Plan)

    def test_decoding_ends_in_time(self, monkeypatch):
        monkeypatch.setattr(thrift_decode, "DECODE_SECONDS", -1)
        with pytest.raises(Malformed, match="cannot be read within"):
            decoded(encoded(to_state_struct(STATE)), idl.ClusterState)

    def test_damaged_messages(self):
        """Each is read or refused, in memory that its bytes bound."""
        whole = encoded_call("plan")[:-1] + b"\x0c\0\1" + encoded(to_state_struct(STATE)) + b"\0"
        chance, read = random.Random(13), 0
        tracemalloc.start()
        try:
            for _ in range(messages()):
                content = damaged(whole, chance)
                read += is_read(content)
                # Twice: what measures coverage takes memory, too, the first time that a line runs.
                taken = min(memory_to_read(content) for _ in range(2))
                assert taken < 100_000 + 50 * len(content)
        finally:
            tracemalloc.stop()
        assert messages() / 100 < read < messages() / 2


def memory_to_read(content):
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    is_read(content)
    return tracemalloc.get_traced_memory()[1] - before


def is_read(content):
    protocol = BinaryProtocol(ReadBuffer(content))
    try:
        protocol.read_message_begin()
        arguments = idl.Brain.plan_args()
        protocol.read_struct(arguments)
        from_state_struct(arguments.state)
    except (Malformed, InvalidInput, TProtocolException, UnicodeDecodeError):
        return False
    return True


class TestPulse:
    def test_a_server_that_answers_has_one(self, client, monkeypatch):
        monkeypatch.setattr(thrift_client, "PULSE_SECONDS", 0.0)
        assert Heartbeat(client).beats()

    @pytest.mark.slow
    def test_one_whose_seats_are_taken_has_none_after_a_while(self, client, monkeypatch):
        monkeypatch.setattr(thrift_brain, "MAX_CLIENTS", 1)
        monkeypatch.setattr(thrift_client, "PULSE_SECONDS", 0.0)
        monkeypatch.setattr(thrift_client, "SILENCE_SECONDS", 0.5)
        with serving(EchoPlanner()) as server:
            with socket.create_connection(("127.0.0.1", server.port)) as hog:
                hog.sendall(b"\0")
                pulse = Heartbeat(client_of(server))
                assert pulse.beats()
                await_true(lambda: not pulse.beats())
            await_true(pulse.beats)
