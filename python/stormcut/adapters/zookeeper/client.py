"""Clients of ZooKeeper, and whose nodes are theirs."""

from __future__ import annotations

import atexit
import logging
import shlex
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoAuthError, NoNodeError
from kazoo.hosts import collect_hosts
from kazoo.protocol.states import KazooState
from kazoo.retry import KazooRetry
from kazoo.security import make_digest_acl

from stormcut.adapters.thrift.seal import Seal, zookeeper_password
from stormcut.application.waiting import TimedOut, wait_until
from stormcut.model.errors import InvalidInput

log = logging.getLogger(__name__)

#: After this long without a sign of life another brain takes over. Below 4 s (two ticks of a
#: usual server) ZooKeeper does not go.
SESSION_SECONDS = 6.0
#: Of served time: to connect, and until a refusal counts where nobody wants to wait.
CONNECT_SECONDS = 10.0
REFUSAL_SECONDS = 1.0
#: Longest to find out whether a server refuses.
_PROBE_SECONDS = 1.0
#: After this long a session is left to end by itself.
CLOSE_SECONDS = 3.0

_CREATE_COMMAND = "(umask 077; printf 'stormcut:%s\\n' \"$(openssl rand -hex 24)\" > {path})"


@dataclass(frozen=True)
class Credentials:
    """The secret of an auth file, which is in no repr."""

    user: str
    password: str

    @property
    def seal(self) -> Seal:
        """What makes and checks seals by it."""
        return Seal(f"{self.user}:{self.password}")

    @property
    def digest(self) -> tuple[str, str]:
        """User and password that ZooKeeper is told."""
        return self.user, zookeeper_password(f"{self.user}:{self.password}")

    def __repr__(self) -> str:
        return f"Credentials({self.user})"


def read_auth_file(path: Path) -> Credentials:
    """Read ``user:password`` from the first line of a file that only its owner may read.

    Raises
    ------
    InvalidInput
        It is missing (with the command that makes one), open to others, or not of that form.
    """
    where = str(path)
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        command = _CREATE_COMMAND.format(path=shlex.quote(where))
        raise InvalidInput(
            "no such file; copy the one that Nimbus has (stormcut.auth.file in its storm.yaml); "
            f"only if there is none yet, create it with: {command}",
            where,
        ) from error
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", where) from error
    except UnicodeDecodeError as error:
        raise InvalidInput("is no text, but must be one line user:password", where) from error
    if stat.S_IMODE(mode) & 0o077:
        raise InvalidInput(
            f"holds a password but others may use it (mode {stat.S_IMODE(mode):04o});"
            f" run: chmod 600 {where}",
            where,
        )
    lines = text.splitlines()
    user, colon, password = lines[0].strip().partition(":") if len(lines) == 1 else ("", "", "")
    if not (user and colon and password):
        raise InvalidInput("must be one line user:password", where)
    return Credentials(user, password)


class Client(KazooClient):  # type: ignore[misc]  # kazoo has no types
    """A client of ZooKeeper's that has the seal of what it publishes."""

    def __init__(self, seal: Seal, **options: Any) -> None:
        super().__init__(**options)
        self.seal = seal


@contextmanager
def connected(servers: str, credentials: Credentials, is_patient: bool = False) -> Iterator[Client]:
    """Yield a started client whose new nodes only these credentials can touch.

    Parameters
    ----------
    servers : str
        ``host:port``, several separated by commas.
    is_patient : bool
        Wait for servers that are starting, as when a machine has just been switched on.

    Raises
    ------
    InvalidInput
        No server answers, or one refuses the credentials.
    """
    client = open_client(servers, credentials, is_patient)
    try:
        yield client
    except NoAuthError as error:
        raise InvalidInput(
            "nodes there belong to other credentials than those of the auth file", servers
        ) from error
    except KazooException as error:
        raise InvalidInput(f"ZooKeeper failed: {type(error).__name__} {error}", servers) from error
    finally:
        close_client(client)


def open_client(servers: str, credentials: Credentials, is_patient: bool = False) -> Client:
    """Return a started client that reconnects for ever; see `connected`."""
    # kazoo tells of every request, the one with the password included, and of every attempt to
    # reconnect; what matters of it is told where it matters
    logging.getLogger("kazoo").setLevel(logging.ERROR)
    check_servers(servers)
    client = Client(
        credentials.seal,
        hosts=servers,
        timeout=SESSION_SECONDS,
        default_acl=[make_digest_acl(*credentials.digest, all=True)],
        auth_data=[("digest", ":".join(credentials.digest))],
        connection_retry=KazooRetry(max_tries=-1, delay=0.1, max_delay=2.0),
        command_retry=KazooRetry(max_tries=3, delay=0.1),
    )
    client.add_listener(_follow_what_is_there(client))
    client.start_async()
    if (why := _no_connection(client, servers, is_patient)) is not None:
        close_client(client, 0.0)
        raise InvalidInput(why, servers)
    return client


def _no_connection(client: Client, servers: str, is_patient: bool) -> str | None:
    """Wait until a client is connected; return why it is not, None if it is."""
    first = CONNECT_SECONDS if is_patient else REFUSAL_SECONDS
    for patience_s in (first, CONNECT_SECONDS - first):
        with suppress(TimedOut):
            wait_until(lambda: client.connected, patience_s, "ZooKeeper answers", poll_s=0.05)
            return None
        if (why := refusal(servers)) is not None:
            return why
    return "no ZooKeeper answers; is it running there?"


def refusal(servers: str) -> str | None:
    """Return why no server can be reached, None if one of them may yet answer."""
    unknown = []
    hosts, _ = collect_hosts(servers)
    for host, port in hosts:
        try:
            socket.create_connection((host, port), _PROBE_SECONDS).close()
            return None
        except socket.gaierror:
            unknown.append(host)
        except ConnectionRefusedError:
            pass
        except OSError:
            return None
    if len(unknown) == len(hosts):
        return f"no host of this name: {', '.join(sorted(unknown))}"
    return "nothing listens there; is ZooKeeper running?"


def _follow_what_is_there(client: Client) -> Callable[[KazooState], None]:
    """Return a listener that lets a client go on with a ZooKeeper whose data are gone.

    A server refuses whoever has seen later changes than it has, lest a session goes back in time.
    Away for longer than a session lasts there is no session left to guard.
    """
    timer: threading.Timer | None = None

    def forget() -> None:
        client.last_zxid = 0

    def changed(state: KazooState) -> None:
        nonlocal timer
        if timer is not None:
            timer.cancel()
        if state == KazooState.SUSPENDED:
            timer = threading.Timer(SESSION_SECONDS, forget)
            timer.daemon = True
            timer.start()

    return changed


def check_servers(servers: str) -> None:
    """Refuse what names no servers.

    Raises
    ------
    InvalidInput
        It is not of the form host:port, several separated by commas.
    """
    try:
        collect_hosts(servers)
    except ValueError as error:
        raise InvalidInput("must be HOST:PORT[,HOST:PORT...]", f"ZooKeeper {servers!r}") from error


def close_client(client: Client, patience_s: float = CLOSE_SECONDS) -> None:
    """End the session at once: its ephemeral nodes go with it.

    kazoo waits for a server that is not there for 10 s or more, and there is nothing to tell it.
    For a callback that does not return it waits for ever, also when the program ends.
    """

    def end() -> None:
        with suppress(Exception):
            client.stop()
            client.close()

    ending = threading.Thread(target=end, name="zookeeper-close", daemon=True)
    ending.start()
    ending.join(patience_s)
    atexit.unregister(client.handler.stop)


def hand_over(client: Client, path: str, to: Credentials) -> int:
    """Give a node and all below it to other credentials; return how many these are.

    From the leaves up: whoever is interrupted can begin again. People's orders go first: a
    controller that cannot read them does nothing.
    """
    try:
        children = sorted(client.get_children(path), key=lambda child: child != "orders")
        handed = sum(hand_over(client, f"{path}/{child}", to) for child in children)
        client.set_acls(path, [make_digest_acl(*to.digest, all=True)])
    except NoNodeError:
        return 0
    return handed + 1
