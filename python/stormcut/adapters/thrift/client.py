"""Asks a brain over Thrift: one sealed request a connection."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from thriftpy2.thrift import TApplicationException, TClient

from stormcut.adapters.files.profile_file import format_profile
from stormcut.adapters.thrift.decode import Decoder
from stormcut.adapters.thrift.frames import BadFrame, receive_frame, send_frame
from stormcut.adapters.thrift.seal import Seal
from stormcut.adapters.thrift.values import (
    PROTOCOL_VERSION,
    BinaryProtocol,
    ReadBuffer,
    WriteBuffer,
    check_version,
    from_plan_struct,
    from_state_struct,
    idl,
    to_state_struct,
    to_worker_structs,
)
from stormcut.adapters.tls.channel import Tls
from stormcut.control.orders import Undo
from stormcut.model.cluster import ClusterState, Described
from stormcut.model.errors import InvalidInput
from stormcut.model.plan import Plan
from stormcut.model.profile import Profile

#: Longest to send a request and take the answer.
CLIENT_SECONDS = 10.0
#: How often a brain asks itself, and how long it may fail to answer.
PULSE_SECONDS = 5.0
SILENCE_SECONDS = 30.0


class BrainClient:
    """Asks a brain; each call is a connection of its own.

    Parameters
    ----------
    brain : str
        The name that it leads by.
    seal : Seal
        Of the secret that it knows, too.
    host, port : str, int
        Where it listens.
    seconds : float
        Longest to wait for an answer.
    tls : Tls, optional
        Of this side; the brain must have a certificate, too.

    Raises
    ------
    InvalidInput
        From every method: the brain refuses, cannot be reached in ``seconds``, or answers what
        this version does not understand.
    """

    def __init__(
        self,
        brain: str,
        seal: Seal,
        host: str,
        port: int,
        seconds: float = CLIENT_SECONDS,
        tls: Tls | None = None,
    ) -> None:
        self._tls = tls
        self._brain = brain
        self._seal = seal
        self._address = (host, port)
        self._seconds = seconds

    def plan(self, state: ClusterState) -> Plan:
        """Return the brain's plan for a state."""
        struct = to_state_struct(state)
        return from_plan_struct(self._call(lambda client: client.plan(struct)))

    def described(self) -> Described:
        """Return the state that Nimbus described to the brain last."""
        struct = self._call(lambda client: client.last_state())
        check_version(getattr(struct, "version", None), "last state")
        return Described(from_state_struct(struct.state), struct.described_ms)

    def preview(
        self,
        topology: str,
        profile: Profile | None,
        undo: Undo | None,
    ) -> dict[str, Any]:
        """Return what the brain would plan if this were known of a topology: `Brain.preview`."""
        override = None if undo is None else undo.override
        evidence = idl.Evidence(
            version=PROTOCOL_VERSION,
            topology=topology,
            profile=None if profile is None else format_profile(profile),
            undo_to=None if undo is None else to_worker_structs(undo.workers),
            override_reason=None if override is None else override.reason,
        )
        return _document(self._call(lambda client: client.preview(evidence)), "preview")

    def outlook(self) -> dict[str, Any]:
        """Return what the brain does and withholds: `Brain.outlook`."""
        return _document(self._call(lambda client: client.outlook()), "outlook")

    def health(self) -> Any:
        """Return the brain's `Health` struct."""
        return self._call(lambda client: client.health())

    def _call(self, ask: Callable[[Any], Any]) -> Any:
        where = "brain {}:{}".format(*self._address)
        protocol = BinaryProtocol(_OneExchange(self._exchanged))
        try:
            return ask(TClient(idl.Brain, protocol, protocol))
        except idl.Refusal as refusal:
            raise InvalidInput(f"refuses: {refusal.reason}", where) from refusal
        except InvalidInput:
            raise
        except (BadFrame, OSError) as error:
            how = "" if self._tls else " (asked without --tls; its log says more)"
            raise InvalidInput(f"does not answer: {error}{how}", where) from error
        except TApplicationException as error:
            if error.type != TApplicationException.UNKNOWN_METHOD:
                raise InvalidInput(f"answers nonsense: {error.message}", where) from error
            what = "is older than this stormcut and does not know this question: upgrade the brain"
            raise InvalidInput(what, where) from error
        except Exception as error:
            raise InvalidInput(f"answers nonsense: {error}", where) from error

    def _exchanged(self, payload: bytes) -> bytes:
        """Return the answer to a message."""
        deadline = time.monotonic() + self._seconds
        request, nonce = self._seal.request(self._brain, payload)
        with self._connected(deadline) as connection:
            send_frame(connection, request, deadline)
            return self._seal.open_reply(nonce, receive_frame(connection, deadline))

    def _connected(self, deadline: float) -> socket.socket:
        connection = socket.create_connection(self._address, timeout=self._seconds)
        try:
            return connection if self._tls is None else self._tls.client_side(connection, deadline)
        except BaseException:
            connection.close()
            raise


def _document(answer: str, where: str) -> dict[str, Any]:
    try:
        document = json.loads(answer)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInput(f"answers nonsense: {error}", where) from error
    if not isinstance(document, dict):
        raise InvalidInput("answers nonsense: not an object", where)
    return document


class _OneExchange(ReadBuffer, WriteBuffer):
    """A client's transport: what is written goes out on flush, what is read is the answer."""

    def __init__(self, exchanged: Callable[[bytes], bytes]) -> None:
        ReadBuffer.__init__(self, b"")
        WriteBuffer.__init__(self)
        self._exchanged = exchanged

    def flush(self) -> None:
        self.decoder = Decoder(self._exchanged(self.content))


class Heartbeat:
    """Whether a brain still answers, asked as others ask it.

    Parameters
    ----------
    client : BrainClient
        Of that brain.
    """

    def __init__(self, client: BrainClient) -> None:
        self._client = client
        self._heard = self._asked = time.monotonic()

    def beats(self) -> bool:
        """Return whether it has answered within `SILENCE_SECONDS`; ask every `PULSE_SECONDS`."""
        if time.monotonic() - self._asked >= PULSE_SECONDS:
            with suppress(InvalidInput):
                self._client.health()
                self._heard = time.monotonic()
            self._asked = time.monotonic()
        return self._asked - self._heard < SILENCE_SECONDS
