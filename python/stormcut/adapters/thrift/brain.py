"""The brain over Thrift: framed, sealed, binary, one request a connection.

The server is written here because thriftpy2's own trusts the length that a frame announces, waits
for ever for a slow client, and shares its port with strangers (SO_REUSEPORT).
"""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from thriftpy2.thrift import TProcessor

from stormcut.adapters.files.profile_file import parse_profile
from stormcut.adapters.thrift.client import CLIENT_SECONDS
from stormcut.adapters.thrift.decode import Malformed
from stormcut.adapters.thrift.frames import (
    MAX_FRAME_BYTES,
    BadFrame,
    Budget,
    part,
    receive,
    receive_length,
    send_frame,
)
from stormcut.adapters.thrift.seal import HEADER_BYTES, BadSeal, Freshness, Head, Request, Seal
from stormcut.adapters.thrift.values import (
    PROTOCOL_VERSION,
    BinaryProtocol,
    ReadBuffer,
    WriteBuffer,
    check_version,
    from_state_struct,
    from_worker_structs,
    idl,
    to_plan_struct,
    to_state_struct,
)
from stormcut.adapters.tls.channel import Distrusted, Role, Tls, accepted
from stormcut.control.orders import Override, Undo
from stormcut.control.ports import Unavailable
from stormcut.model.cluster import ClusterState, Described
from stormcut.model.errors import InvalidInput, StormcutError
from stormcut.model.plan import Plan
from stormcut.model.profile import Profile

log = logging.getLogger(__name__)

MAX_CLIENTS = 64
#: Of one role, with TLS: whoever looks may wait for what becomes of a plan, and takes no seat from
#: Nimbus meanwhile.
MAX_OF_ROLE = 16
#: Longest that it may take to show by the head of its request that it knows the secret.
HEAD_SECONDS = 3.0
#: Of all requests under way together: two of the largest.
MAX_BYTES = 2 * MAX_FRAME_BYTES
#: Of a request by whoever has a certificate alone: they ask without evidence.
MAX_VIEW_BYTES = 4096

#: Questions, and those of which not even that is known.
KINDS = ("plan", "last_state", "preview", "outlook", "health")
UNREAD = "unread"
#: With TLS, what may be asked by whose certificate.
READING = frozenset(KINDS) - {"plan"}
MAY_ASK = {
    Role.BRAIN: {"health"},
    Role.NIMBUS: {"plan", "health"},
    Role.OPERATE: READING,
    Role.VIEW: READING - {"preview"},
}
#: Of those whose certificate alone lets them in: no secret, for whatever brain.
VIEWERS, ANY_BRAIN = Seal(""), ""
SERVED, REFUSED = OUTCOMES = ("served", "refused")


class Planner(Protocol):
    """What the server needs to answer Nimbus."""

    @property
    def leads(self) -> bool:
        """Whether this brain may answer."""
        ...

    def plan(self, state: ClusterState) -> Plan:
        """Return the plan for a state."""
        ...


class Previewer(Protocol):
    """What the server needs to answer people."""

    def described(self) -> Described:
        """Return the state that Nimbus described last."""
        ...

    def preview(
        self,
        topology: str,
        profile: Profile | None,
        undo: Undo | None,
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
    previewer : Previewer, optional
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
        previewer: Previewer | None = None,
        tally: Tally | None = None,
        tls: Tls | None = None,
    ) -> None:
        self._planner = planner
        self._tls = tls
        self._previewer = previewer
        self._tally = tally
        self._identity = identity
        self._seal = seal
        self._freshness = Freshness()
        self._started_ms = int(time.time() * 1000)
        self._served = 0
        self._last_plan: str | None = None
        self._budget = Budget(MAX_BYTES)
        self._previewing = threading.Lock()
        self._seats = threading.BoundedSemaphore(MAX_CLIENTS)
        self._seats_of = {role: threading.BoundedSemaphore(MAX_OF_ROLE) for role in Role}
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
                with self._seat_of(role):
                    self._converse(secured, deadline, role)
        else:
            try:
                self._converse(connection, deadline, role)
            except (BadFrame, BadSeal):
                part(connection)
                raise

    @contextmanager
    def _seat_of(self, role: Role) -> Iterator[None]:
        seats = self._seats_of[role]
        if not seats.acquire(blocking=False):
            raise InvalidInput(f"{MAX_OF_ROLE} others of the role {role} ask at once")
        try:
            yield
        finally:
            seats.release()

    def _converse(self, connection: socket.socket, deadline: float, role: Role | None) -> None:
        """Answer a request; nothing of it is read before its head is known to be sealed."""
        soon = min(deadline, time.monotonic() + HEAD_SECONDS)
        size = receive_length(connection, soon) - HEADER_BYTES
        head = receive(connection, min(size, 0) + HEADER_BYTES, soon)
        seal, reader, opened = self._opened(head, size, role)
        with self._budget.taken(size):
            request = seal.open_request(reader, opened, receive(connection, size, deadline))
            reply = seal.reply(request.nonce, self._answer(request, role))
        send_frame(connection, reply, time.monotonic() + CLIENT_SECONDS)

    def _opened(self, head: bytes, size: int, role: Role | None) -> tuple[Seal, str, Head]:
        """Return by which seal a request is opened and answered, for whom it is, and its head."""
        try:
            return self._seal, self._identity, self._seal.open_head(self._identity, head, size)
        except BadSeal:
            if role != Role.VIEW or size > MAX_VIEW_BYTES:
                raise
            return VIEWERS, ANY_BRAIN, VIEWERS.open_head(ANY_BRAIN, head, size)

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
            described = self._require_previewer().described()
            return idl.LastState(
                version=PROTOCOL_VERSION,
                state=to_state_struct(described.state),
                described_ms=described.moment_ms,
            )

    def preview(self, evidence: Any) -> str:
        """Answer `Brain.preview`."""
        with self._refusing("preview"):
            check_version(getattr(evidence, "version", None), "evidence")
            profile, undo_to = evidence.profile, evidence.undo_to
            reason = evidence.override_reason
            override = None if reason is None else Override(reason)
            # One at a time: Nimbus's plans need the processor, too.
            if not self._previewing.acquire(timeout=CLIENT_SECONDS / 2):
                raise InvalidInput("other previews are being computed: ask again")
            try:
                document = self._require_previewer().preview(
                    evidence.topology,
                    None
                    if profile is None
                    else parse_profile(profile.encode(), "evidence.profile"),
                    None
                    if undo_to is None
                    else Undo(from_worker_structs(undo_to), override=override),
                )
            finally:
                self._previewing.release()
            return json.dumps(document)

    def outlook(self) -> str:
        """Answer `Brain.outlook`."""
        with self._refusing("outlook"):
            return json.dumps(self._require_previewer().outlook())

    def _require_previewer(self) -> Previewer:
        if self._previewer is None:
            raise InvalidInput("this brain runs alone, without a controller: it previews nothing")
        return self._previewer

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
