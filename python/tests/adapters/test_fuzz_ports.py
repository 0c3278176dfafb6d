"""Whatever comes to the brain's port is answered or closed, and the next is served; and back."""

from __future__ import annotations

import json
import logging
import random
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from brain_clusters import dealt, profile_of, supervisors, topology
from conftest_zookeeper import PATIENCE_S, await_true
from damage import damaged, little_memory, messages

from stormcut.adapters.files.profile_file import format_profile
from stormcut.adapters.thrift.brain import BrainServer
from stormcut.adapters.thrift.client import BrainClient
from stormcut.adapters.thrift.seal import HEADER_BYTES, Seal
from stormcut.adapters.thrift.values import (
    BinaryProtocol,
    WriteBuffer,
    idl,
    to_plan_struct,
    to_state_struct,
    to_worker_structs,
)
from stormcut.model.cluster import ClusterState, Described, Slot
from stormcut.model.errors import InvalidInput
from stormcut.model.plan import Declined, Plan, TopologyPlan

SEAL, BRAIN = Seal("stormcut:geheim"), "brain-1"
TAXI = dealt(topology("taxi-1-17", (2, 2)), [Slot("n0", 6700), Slot("n1", 6700)])
STATE = ClusterState(supervisors(2), (TAXI,))
PLAN = Plan(
    "p",
    STATE.fingerprint(),
    5,
    (TopologyPlan(TAXI.id, TAXI.assignment, "cut", "weil ü"),),
    (Declined("u", "no"),),
)


class Planner:
    """A brain that knows one plan."""

    leads = True

    def plan(self, state):
        return PLAN

    def described(self):
        return Described(STATE, 5)

    def preview(self, topology, profile, undo):
        return {"topology": topology}

    def outlook(self):
        return {"proposal": None}


def called(method: str, kind: str, **fields: object) -> bytes:
    """Return a call, or what one results in, as Thrift has it."""
    out = WriteBuffer()
    protocol = BinaryProtocol(out)
    protocol.write_message_begin(method, 1 if kind == "args" else 2, 1)
    protocol.write_struct(getattr(idl.Brain, f"{method}_{kind}")(**fields))
    return out.content


EVIDENCE = idl.Evidence(
    version=1,
    topology=TAXI.id,
    profile=format_profile(profile_of(TAXI)),
    undo_to=to_worker_structs(TAXI.assignment),
)
QUESTIONS = {
    "plan": called("plan", "args", state=to_state_struct(STATE)),
    "preview": called("preview", "args", evidence=EVIDENCE),
    "last_state": called("last_state", "args"),
    "health": called("health", "args"),
}
ANSWERS: dict[str, tuple[bytes, Callable[[BrainClient], object]]] = {
    "plan": (called("plan", "result", success=to_plan_struct(PLAN)), lambda c: c.plan(STATE)),
    "last_state": (
        called(
            "last_state",
            "result",
            success=idl.LastState(version=1, state=to_state_struct(STATE), described_ms=5),
        ),
        lambda client: client.described(),
    ),
    "outlook": (
        called("outlook", "result", success=json.dumps({"withheld": [], "paused": False})),
        lambda client: client.outlook(),
    ),
    "refusal": (
        called("plan", "result", refusal=idl.Refusal(version=1, reason="not the leader")),
        lambda client: client.plan(STATE),
    ),
}


def framed(content: bytes) -> bytes:
    return struct.pack("!i", len(content)) + content


def exchanged(port: int, content: bytes) -> bytes:
    """Send bytes and return what comes back until the server closes or resets."""
    received = b""
    with (
        suppress(ConnectionError),
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection,
    ):
        connection.sendall(content)
        with suppress(OSError):  # It may have been closed already.
            connection.shutdown(socket.SHUT_WR)
        while part := connection.recv(4096):
            received += part
    return received


@contextmanager
def nothing_left() -> Iterator[None]:
    """Check that no thread is left of what runs in the block, and little memory was needed."""
    threads = threading.active_count()
    with little_memory():
        yield
    await_true(lambda: threading.active_count() <= threads)


@pytest.fixture
def brain() -> Iterator[BrainServer]:
    logging.getLogger("stormcut").setLevel(logging.CRITICAL)  # pytest keeps every line
    server = BrainServer(Planner(), BRAIN, SEAL, "127.0.0.1", 0, Planner())
    server.start()
    try:
        yield server
    finally:
        server.close()
        logging.getLogger("stormcut").setLevel(logging.NOTSET)


@pytest.mark.parametrize("knows", ["nothing", "the frame", "the secret"])
def test_damaged_questions(brain, knows):
    chance, answered = random.Random(29), 0
    client = BrainClient(BRAIN, SEAL, "127.0.0.1", brain.port, PATIENCE_S)
    with nothing_left():
        for _ in range(messages()):
            question = chance.choice(list(QUESTIONS.values()))
            if knows == "the secret":
                content = framed(SEAL.request(BRAIN, damaged(question, chance))[0])
            elif knows == "the frame":
                content = framed(damaged(SEAL.request(BRAIN, question)[0], chance))
            else:
                content = damaged(framed(SEAL.request(BRAIN, question)[0]), chance)
            answered += bool(exchanged(brain.port, content))
        assert client.plan(STATE) == PLAN
    # Bytes after a message are nobody's; of what is sealed only whole messages are answered.
    assert answered < messages() if knows == "the secret" else answered < messages() / 4


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("kind", ANSWERS)
def test_damaged_answers(kind, sealed):
    whole, ask = ANSWERS[kind]
    chance, troubles = random.Random(31), 0
    with answering(whole, sealed, chance) as port, little_memory():
        client = BrainClient(BRAIN, SEAL, "127.0.0.1", port, PATIENCE_S)
        for _ in range(messages()):
            try:
                ask(client)
            except InvalidInput as error:
                troubles += 1
                assert str(error).isprintable()
    assert troubles > messages() / 4


@contextmanager
def answering(whole: bytes, sealed: bool, chance: random.Random) -> Iterator[int]:
    """Answer every question by a damaged message; yield the port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def answer(connection: socket.socket) -> None:
        (length,) = struct.unpack("!i", connection.recv(4, socket.MSG_WAITALL))
        content = connection.recv(length, socket.MSG_WAITALL)
        request = SEAL.open_head(BRAIN, content[:HEADER_BYTES], length - HEADER_BYTES)
        if sealed:
            content = framed(SEAL.reply(request.nonce, damaged(whole, chance)))
        else:
            content = damaged(framed(SEAL.reply(request.nonce, whole)), chance)
        connection.sendall(content)

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, suppress(ConnectionError):
                answer(connection)

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
