"""Which brain leads: kazoo's Election, and the ephemeral `leader` node with its address."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from kazoo.exceptions import KazooException, NoAuthError, NodeExistsError, NoNodeError
from kazoo.protocol.states import KazooState
from kazoo.recipe.election import Election

from stormcut.adapters.thrift.client import BrainClient
from stormcut.adapters.tls.channel import Tls
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.control.ports import Unavailable
from stormcut.model.errors import InvalidInput

log = logging.getLogger(__name__)

LEADER_VERSION = 1
#: How often the leader looks whether its nodes are still there, and for new profiles.
WATCH_SECONDS = 0.5


class ZooKeeperLeadership:
    """Stands for election until `close`, whatever happens to the session.

    Parameters
    ----------
    nodes : StormcutNodes
        Where.
    identity, host, port : str, str, int
        This brain's name, and the address that the leader publishes.
    elected : callable
        Called in the election's thread before `leads` turns true.
    watch : callable
        Called every `WATCH_SECONDS` while this brain leads.
    answers : callable
        Called as often: whether this brain can answer; one that cannot steps down.
    """

    def __init__(
        self,
        nodes: StormcutNodes,
        identity: str,
        host: str,
        port: int,
        elected: Callable[[], None],
        watch: Callable[[], None],
        answers: Callable[[], bool],
    ) -> None:
        self._nodes = nodes
        self._identity = identity
        address = {"version": LEADER_VERSION, "id": identity, "host": host, "port": port}
        self._address = json.dumps(address).encode()
        self._elected = elected
        self._watch = watch
        self._answers = answers
        self._closed = threading.Event()
        self._resign = threading.Event()
        self._leading = False
        self._logged = ""
        self._election: Election | None = None
        nodes.fence = self._no_fence = nodes.path("election/none")

    @property
    def leads(self) -> bool:
        """Whether this brain leads, and is connected: else it cannot know."""
        return self._leading and bool(self._nodes.client.connected)

    def start(self) -> None:
        """Stand for election in the background."""
        self._nodes.client.add_listener(self._session_changed)
        threading.Thread(target=self._stand, name="election", daemon=True).start()

    def close(self) -> None:
        """Withdraw; the nodes go with the client's session."""
        self._closed.set()
        self._resign.set()
        self._leading = False
        if self._election is not None:
            self._election.cancel()

    def _session_changed(self, state: KazooState) -> None:
        if state == KazooState.LOST and not self._closed.is_set():
            log.warning("ZooKeeper session lost; stepping down, then standing again")
            self._leading = False
            self._resign.set()
        elif state == KazooState.SUSPENDED and not self._closed.is_set():
            log.warning("ZooKeeper connection interrupted; no plans until it is back")
        elif state == KazooState.CONNECTED:
            log.info("ZooKeeper connection is back")

    def _stand(self) -> None:
        while not self._closed.is_set():
            self._resign.clear()
            try:
                self._nodes.secure()
                self._election = self._nodes.client.Election(
                    self._nodes.path("election"), self._identity
                )
                if not self._closed.is_set():
                    self._election.run(self._lead)
            except KazooException as error:
                if not self._closed.is_set():
                    self._warn(f"election: {type(error).__name__} {error}; trying again")
            except Unavailable as error:
                self._warn(f"election: {error}; standing again")
            except Exception:
                log.exception("election: a bug in stormcut; trying again")
            finally:
                self._leading = False
                self._nodes.fence = self._no_fence
            self._closed.wait(WATCH_SECONDS)

    def _warn(self, text: str) -> None:
        """Log what goes wrong twice a second when it begins."""
        if text != self._logged:
            log.warning(text)
        self._logged = text

    def _lead(self) -> None:
        self._logged = ""
        if (place := self._place()) is None:
            return
        self._nodes.fence = place
        self._publish_address()
        self._elected()
        if self._resign.is_set():
            return
        self._leading = True
        log.info("leader: %s answers plans now", self._identity)
        while not self._resign.wait(WATCH_SECONDS):
            if not self._still_elected():
                log.warning("this brain's election node is gone; standing again")
                return
            if not self._answers():
                log.warning("this brain does not answer any more; stepping down, standing again")
                return
            if (lost := self._lost_address()) is not None:
                log.warning("the leader node is %s; published again", lost)
                self._publish_address()
            self._watch()

    def _publish_address(self) -> None:
        """Make the ephemeral node ours: whoever left one is not the leader any more."""
        client, path = self._nodes.client, self._nodes.path("leader")
        while True:
            try:
                client.create(path, self._address, ephemeral=True, makepath=True)
                return
            except NodeExistsError:
                with suppress(NoNodeError):
                    client.delete(path)

    def _lost_address(self) -> str | None:
        """Return what is wrong with the node that tells where this brain is, None if it is ours."""
        try:
            data, _ = self._nodes.client.get(self._nodes.path("leader"))
        except NoNodeError:
            return "gone"
        except NoAuthError:
            return "another's"
        return None if data == self._address else "another's"

    def _still_elected(self) -> bool:
        place = self._place()
        return place is not None and self._nodes.client.exists(place) is not None

    def _place(self) -> str | None:
        """Return the node by which this brain leads: ephemeral, and never another's."""
        lock = self._election.lock if self._election else None
        return None if lock is None or lock.node is None else f"{lock.path}/{lock.node}"


def leader_address(nodes: StormcutNodes) -> Mapping[str, object] | None:
    """Return what the `leader` node says, None without a leader.

    Raises
    ------
    InvalidInput
        It is of a newer stormcut, or damaged.
    """
    return nodes.read_json("leader", "a leader's address", LEADER_VERSION)


def leaders_client(
    nodes: StormcutNodes, seconds: float, tls: Tls | None = None
) -> BrainClient | None:
    """Return a client of the brain that leads, None without a leader.

    Raises
    ------
    InvalidInput
        As `leader_address`.
    """
    address = leader_address(nodes)
    if address is None:
        return None
    try:
        where = str(address["host"]), int(str(address["port"]))
        return BrainClient(str(address["id"]), nodes.seal, *where, seconds, tls)
    except (KeyError, ValueError) as error:
        raise InvalidInput("is not a leader's address", nodes.path("leader")) from error
