"""The brain over Thrift: framed, sealed, binary, one request a connection; and its client.

The server is written here because thriftpy2's own trusts the length that a frame announces, waits
for ever for a slow client, and shares its port with strangers (SO_REUSEPORT).
"""

from __future__ import annotations

import json
import logging
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from thriftpy2.thrift import TApplicationException, TClient, TProcessor

from stormcut.adapters.files.profile_file import format_profile, parse_profile
from stormcut.adapters.thrift.decode import Decoder, Malformed
from stormcut.adapters.thrift.seal import HEADER_BYTES, BadSeal, Freshness, Request, Seal
from stormcut.adapters.thrift.values import (
    MAX_MESSAGE_BYTES,
    PROTOCOL_VERSION,
    BinaryProtocol,
    ReadBuffer,
    WriteBuffer,
    check_version,
    from_plan_struct,
    from_state_struct,
    from_worker_structs,
    idl,
    to_plan_struct,
    to_state_struct,
    to_worker_structs,
)
from stormcut.adapters.tls.channel import Distrusted, Role, Tls, accepted
from stormcut.application.control.ports import Unavailable
from stormcut.model.cluster import ClusterState, Described, Worker
from stormcut.model.errors import InvalidInput, StormcutError
from stormcut.model.plan import Plan
from stormcut.model.profile import Profile

log = logging.getLogger(__name__)

#: Longest that a client may take to send its request, and to take the answer.
CLIENT_SECONDS = 10.0
MAX_CLIENTS = 64
#: How often a brain asks itself, and how long it may fail to answer.
PULSE_SECONDS = 5.0
SILENCE_SECONDS = 30.0
#: A message with the head of its seal.
MAX_FRAME_BYTES = MAX_MESSAGE_BYTES + HEADER_BYTES
_CHUNK = 1 << 16

#: Questions, and those of which not even that is known.
KINDS = ("plan", "last_state", "preview", "outlook", "health")
UNREAD = "unread"
#: With TLS, what may be asked by whose certificate.
READING = frozenset(KINDS) - {"plan"}
MAY_ASK = {
    Role.BRAIN: {"health"},
    Role.NIMBUS: {"plan", "health"},
    Role.OPERATE: READING,
    Role.VIEW: READING,
}
#: Of those whose certificate alone lets them in: no secret, for whatever brain.
VIEWERS, ANY_BRAIN = Seal(""), ""
SERVED, REFUSED = OUTCOMES = ("served", "refused")
_LENGTH = struct.Struct("!i")
#: How a TLS handshake begins.
_TLS_HANDSHAKE = 0x1603


class BadFrame(Exception):
    """What came is no frame: too long, too short, too slow, or cut off."""


class Planner(Protocol):
    """What the server needs to answer Nimbus."""

    @property
    def leads(self) -> bool:
        """Whether this brain may answer."""
        ...

    def plan(self, state: ClusterState) -> Plan:
        """Return the plan for a state."""
        ...


class Foreseer(Protocol):
    """What the server needs to answer people."""

    def described(self) -> Described:
        """Return the state that Nimbus described last."""
        ...

    def preview(
        self,
        topology: str,
        profile: Profile | None,
        former: tuple[Worker, ...] | None,
        override: str | None = None,
    ) -> dict[str, Any]:
        """Return as JSON values what would be planned if this were known of a topology."""
        ...

    def outlook(self) -> dict[str, Any]:
        """Return as JSON values what is done, and what waits for what."""
        ...


class Tally(Protocol):
    """What the server tells of questions; never raises."""

    def count(self, kind: str, outcome: str) -> None:
        """Count a question: one of `KINDS` or `UNREAD`, and one of `OUTCOMES`."""
        ...


def receive_frame(connection: socket.socket, deadline: float) -> bytes:
    """Return the next frame's content.

    Memory grows with what arrives, never with what a length announces.

    Parameters
    ----------
    deadline : float
        Moment of `time.monotonic` by which the whole frame must have come.

    Raises
    ------
    BadFrame
        It is too long, cut off, or late.
    """
    (length,) = _LENGTH.unpack(_receive(connection, _LENGTH.size, deadline))
    if length >> 16 == _TLS_HANDSHAKE:
        raise BadFrame("the other side speaks TLS, but no certificates are named here")
    if not 0 < length <= MAX_FRAME_BYTES:
        raise BadFrame(f"a frame of {length} bytes; allowed are 1 to {MAX_FRAME_BYTES}")
    return _receive(connection, length, deadline)


def _receive(connection: socket.socket, size: int, deadline: float) -> bytes:
    content = bytearray()
    while len(content) < size:
        left = deadline - time.monotonic()
        if left <= 0:
            raise BadFrame(f"only {len(content)} of {size} bytes came in time")
        connection.settimeout(left)
        try:
            part = connection.recv(min(size - len(content), _CHUNK))
        except TimeoutError:
            continue
        except OSError as error:
            raise BadFrame(str(error)) from error
        if not part:
            raise BadFrame(f"the connection ended after {len(content)} of {size} bytes")
        content += part
    return bytes(content)


def send_frame(connection: socket.socket, content: bytes, deadline: float) -> None:
    """Send a frame.

    Parameters
    ----------
    deadline : float
        Moment of `time.monotonic` by which the other side must have taken it.

    Raises
    ------
    BadFrame
        The content is above the limit, or the other side does not take it in time.
    """
    if len(content) > MAX_FRAME_BYTES:
        raise BadFrame(f"a frame of {len(content)} bytes; allowed are {MAX_FRAME_BYTES}")
    left = memoryview(_LENGTH.pack(len(content)) + content)
    try:
        while left:
            # Not sendall: over TLS it would grant every record the whole time anew.
            if (seconds := deadline - time.monotonic()) <= 0:
                raise TimeoutError("not taken in time")
            connection.settimeout(seconds)
            left = left[connection.send(left) :]
    except OSError as error:
        raise BadFrame(str(error)) from error


class BrainServer:
    """Serves `Brain` of stormcut.thrift on one address; each client has a thread of its own.

    Parameters
    ----------
    planner : Planner
        The brain.
    identity : str
        Its name, as in `Health.brain`: requests are sealed for it.
    seal : Seal
        Opens requests; what it does not open is neither decoded nor answered.
    host, port : str, int
        Where to listen; port 0 takes a free one, see `port`.
    foreseer : Foreseer, optional
        The brain again, if it can tell what it would plan.
    tally : Tally, optional
        Is told of every question.
    tls : Tls, optional
        Clients must have a certificate, and ask what its role `MAY_ASK`.

    Raises
    ------
    InvalidInput
        The address cannot be bound.
    """

    def __init__(
        self,
        planner: Planner,
        identity: str,
        seal: Seal,
        host: str,
        port: int,
        foreseer: Foreseer | None = None,
        tally: Tally | None = None,
        tls: Tls | None = None,
    ) -> None:
        self._planner = planner
        self._tls = tls
        self._foreseer = foreseer
        self._tally = tally
        self._identity = identity
        self._seal = seal
        self._freshness = Freshness()
        self._started_ms = int(time.time() * 1000)
        self._served = 0
        self._last_plan: str | None = None
        self._seats = threading.BoundedSemaphore(MAX_CLIENTS)
        self._closed = threading.Event()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._listener = socket.create_server((host, port), family=family, backlog=128)
        except OSError as error:
            raise InvalidInput(f"cannot listen: {error.strerror or error}", f"{host}:{port}") from (
                error
            )
        self.port: int = self._listener.getsockname()[1]

    def start(self) -> None:
        """Serve in the background until `close`."""
        threading.Thread(target=self._accept, name="brain-accept", daemon=True).start()

    def close(self) -> None:
        """Stop listening; a request under way ends with the program."""
        self._closed.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while not self._closed.is_set():
            try:
                connection, peer = self._listener.accept()
            except OSError as error:
                if not self._closed.wait(0.1):
                    log.warning("cannot accept a connection: %s", error)
                continue
            if not self._seats.acquire(blocking=False):
                log.warning("%d clients at once; one more from %s refused", MAX_CLIENTS, peer[0])
                self._count(UNREAD, REFUSED)
                connection.close()
                continue
            threading.Thread(
                target=self._serve, args=(connection, peer[0]), name="brain-client", daemon=True
            ).start()

    def _serve(self, connection: socket.socket, peer: str) -> None:
        try:
            with connection:
                self._exchange(connection, time.monotonic() + CLIENT_SECONDS)
        except (BadFrame, BadSeal, Malformed, Distrusted, InvalidInput) as error:
            self._count(UNREAD, REFUSED)
            log.warning("request from %s ignored: %s", peer, error)
        except Exception as error:  # whatever the decoder stumbled over in foreign bytes
            self._count(UNREAD, REFUSED)
            log.warning("request from %s ignored: %s: %s", peer, type(error).__name__, error)
        finally:
            self._seats.release()

    def _exchange(self, connection: socket.socket, deadline: float) -> None:
        role = None
        if self._tls is not None:
            # The plain socket is as good as closed then: this one has to be.
            with self._tls.server_side(connection) as secured:
                role = accepted(secured, deadline)
                self._converse(secured, deadline, role)
        else:
            self._converse(connection, deadline, role)

    def _converse(self, connection: socket.socket, deadline: float, role: Role | None) -> None:
        seal, request = self._opened(receive_frame(connection, deadline), role)
        reply = seal.reply(request.nonce, self._answer(request, role))
        send_frame(connection, reply, time.monotonic() + CLIENT_SECONDS)

    def _opened(self, content: bytes, role: Role | None) -> tuple[Seal, Request]:
        """Return a request, and the seal by which it is answered."""
        try:
            return self._seal, self._seal.open_request(self._identity, content)
        except BadSeal:
            if role != Role.VIEW:
                raise
            return VIEWERS, VIEWERS.open_request(ANY_BRAIN, content)

    def _answer(self, request: Request, role: Role | None) -> bytes:
        out = WriteBuffer()
        received, sent = BinaryProtocol(ReadBuffer(request.payload)), BinaryProtocol(out)
        TProcessor(idl.Brain, self._handler(request, role)).process(received, sent)
        return out.content

    def _handler(self, request: Request, role: Role | None) -> object:
        try:
            self._freshness.check(request)
        except BadSeal as error:
            log.warning("request refused: %s", error)
            return _Refusing(error, self._count)
        return self if role is None else _Limited(self, role, self._count)

    def plan(self, state: Any) -> Any:
        """Answer `Brain.plan`; everything that goes wrong is told as a `Refusal`."""
        with self._refusing("plan"):
            plan = self._planner.plan(from_state_struct(state))
            self._served += 1
            self._last_plan = plan.id
            return to_plan_struct(plan)

    def last_state(self) -> Any:
        """Answer `Brain.last_state`."""
        with self._refusing("last_state"):
            described = self._foreseen().described()
            return idl.LastState(
                version=PROTOCOL_VERSION,
                state=to_state_struct(described.state),
                described_ms=described.moment_ms,
            )

    def preview(self, evidence: Any) -> str:
        """Answer `Brain.preview`."""
        with self._refusing("preview"):
            check_version(getattr(evidence, "version", None), "evidence")
            profile, former = evidence.profile, evidence.former
            found = self._foreseen().preview(
                evidence.topology,
                None if profile is None else parse_profile(profile.encode(), "evidence.profile"),
                None if former is None else from_worker_structs(former),
                evidence.override_reason,
            )
            return json.dumps(found)

    def outlook(self) -> str:
        """Answer `Brain.outlook`."""
        with self._refusing("outlook"):
            return json.dumps(self._foreseen().outlook())

    def _foreseen(self) -> Foreseer:
        if self._foreseer is None:
            raise InvalidInput("this brain only does as it was told and foresees nothing")
        return self._foreseer

    @contextmanager
    def _refusing(self, what: str) -> Iterator[None]:
        """Turn whatever goes wrong, not leading included, into a `Refusal`."""
        try:
            if not self._planner.leads:
                raise InvalidInput("not the leader")
            yield
            self._count(what, SERVED)
        except (StormcutError, Unavailable) as error:
            self._count(what, REFUSED)
            extra = {"plan": getattr(error, "plan", None)}
            log.warning("%s refused: %s", what, error, extra=extra)
            raise idl.Refusal(version=PROTOCOL_VERSION, reason=str(error)) from error
        except Exception as error:
            self._count(what, REFUSED)
            log.exception("no %s: a bug in stormcut", what)
            reason = f"internal error, see the brain's log: {type(error).__name__}"
            raise idl.Refusal(version=PROTOCOL_VERSION, reason=reason) from error

    def _count(self, kind: str, outcome: str) -> None:
        if self._tally is not None:
            self._tally.count(kind, outcome)

    def health(self) -> Any:
        """Answer `Brain.health`, also while a plan is being made."""
        self._count("health", SERVED)
        return idl.Health(
            version=PROTOCOL_VERSION,
            brain=self._identity,
            leader=self._planner.leads,
            started_ms=self._started_ms,
            plans_served=self._served,
            last_plan=self._last_plan,
        )


class _Refusing:
    """Answers in place of a brain that does not trust the question."""

    def __init__(self, reason: BadSeal, count: Callable[[str, str], None]) -> None:
        self._reason = reason
        self._count = count

    def plan(self, state: Any) -> Any:
        raise self._refusal("plan")

    def last_state(self) -> Any:
        raise self._refusal("last_state")

    def preview(self, evidence: Any) -> str:
        raise self._refusal("preview")

    def outlook(self) -> str:
        raise self._refusal("outlook")

    def health(self) -> Any:
        raise self._reason  # this method knows no refusals

    def _refusal(self, kind: str) -> Exception:
        self._count(kind, REFUSED)
        refusal: Exception = idl.Refusal(version=PROTOCOL_VERSION, reason=str(self._reason))
        return refusal


class _Limited:
    """Answers of a brain what a role may ask."""

    def __init__(self, server: BrainServer, role: Role, count: Callable[[str, str], None]) -> None:
        self._server = server
        self._role = role
        self._count = count

    def __getattr__(self, kind: str) -> object:
        if kind in MAY_ASK[self._role]:
            return getattr(self._server, kind)
        what = f"a certificate of the role {self._role} may not ask for {kind}"
        log.warning("request refused: %s", what)
        return getattr(_Refusing(BadSeal(what), self._count), kind)


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
        former: tuple[Worker, ...] | None,
        override: str | None = None,
    ) -> dict[str, Any]:
        """Return what the brain would plan if this were known of a topology: `Brain.preview`."""
        evidence = idl.Evidence(
            version=PROTOCOL_VERSION,
            topology=topology,
            profile=None if profile is None else format_profile(profile),
            former=None if former is None else to_worker_structs(former),
            override_reason=override,
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
        found = json.loads(answer)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInput(f"answers nonsense: {error}", where) from error
    if not isinstance(found, dict):
        raise InvalidInput("answers nonsense: not an object", where)
    return found


class _OneExchange(ReadBuffer, WriteBuffer):
    """A client's transport: what is written goes out on flush, what is read is the answer."""

    def __init__(self, exchanged: Callable[[bytes], bytes]) -> None:
        ReadBuffer.__init__(self, b"")
        WriteBuffer.__init__(self)
        self._exchanged = exchanged

    def flush(self) -> None:
        self.decoder = Decoder(self._exchanged(self.content))


class Pulse:
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
