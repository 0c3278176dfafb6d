"""stormcut's nodes in ZooKeeper: access, plans, history, profiles (docs/protocol.md)."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kazoo.exceptions import (
    KazooException,
    NoAuthError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
)

from stormcut.adapters.files.profile_file import format_profile, parse_profile
from stormcut.adapters.thrift.values import decode_plan, encode_plan
from stormcut.adapters.zookeeper.blob import (
    blob_id,
    delete_blob,
    node_data,
    read_blob,
    write_blob,
)
from stormcut.adapters.zookeeper.client import Client, connected, read_auth_file
from stormcut.adapters.zookeeper.paths import DEFAULT_ROOT, check_root
from stormcut.control.ports import HISTORY_VERSION, Unavailable
from stormcut.model.errors import InvalidInput
from stormcut.model.plan import Plan
from stormcut.model.profile import Profile

log = logging.getLogger(__name__)

HISTORY_KEPT = 100
#: A node's data must stay below ZooKeeper's 1 MB.
MAX_ENTRY_BYTES = 1_000_000
#: No later moment is shown: the year 5138.
_LAST_MS = 10**14


@contextmanager
def nodes_at(servers: str, auth_file: Path) -> Iterator[StormcutNodes]:
    """Yield stormcut's nodes in a ZooKeeper; see `connected`."""
    with connected(servers, read_auth_file(auth_file)) as client:
        yield StormcutNodes(client)


def parsed_json(path: str, data: bytes, what: str, known: int) -> dict[str, Any]:
    """Return what the data of a JSON node say; see `StormcutNodes.read_json`."""
    try:
        document: dict[str, Any] = json.loads(data)
        version = document["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInput(f"is not {what}", f"ZooKeeper node {path}") from error
    if version != known:
        raise InvalidInput(
            f"is of version {version}, this stormcut reads {known}: upgrade it",
            f"ZooKeeper node {path}",
        )
    return document


class StormcutNodes:
    """stormcut's nodes below one root, with every access they need.

    Parameters
    ----------
    client : Client
        From `connected`.
    root : str
        Absolute path.
    """

    def __init__(self, client: Client, root: str = DEFAULT_ROOT) -> None:
        check_root(root)
        self.client = client
        self.root = root
        #: Of the secret by which ZooKeeper knows us.
        self.seal = client.seal
        #: Of a brain: its place in the election while it leads, else a node that never exists.
        #: What is written counts only while that node is there. None: no brain's.
        self.fence: str | None = None
        self._profiles: dict[str, tuple[str, Profile | None]] = {}
        self._foreign: set[str] = set()

    def path(self, name: str) -> str:
        """Return the absolute path of one of stormcut's nodes."""
        return f"{self.root}/{name}"

    def secure(self) -> None:
        """Make the root node, and take it from strangers if it was made with an open ACL."""
        self.client.ensure_path(self.root)
        if self.client.get_acls(self.root)[0] != self.client.default_acl:
            log.warning("ZooKeeper node %s had another ACL; now only ours", self.root)
            self.client.set_acls(self.root, self.client.default_acl)
        children = self.client.get_children(self.root)
        foreign = [child for child in children if self._is_foreign(child)]
        # Where people's orders are, too, the secret may be about to change: see `rotate`.
        for child in () if "orders" in foreign else foreign:
            self._evict(self.path(child))

    def _is_foreign(self, name: str) -> bool:
        try:
            return bool(self.client.get_acls(self.path(name))[0] != self.client.default_acl)
        except NoNodeError:
            return False
        except NoAuthError:
            return True

    def _evict(self, path: str) -> None:
        """Delete a node that a stranger has made in our folder: nobody could use it."""
        try:
            # Not what is below it, which others may hold: that cannot even be listed.
            self.client.delete(path)
            log.warning("ZooKeeper node %s belonged to others: deleted", path)
        except NoNodeError:
            pass
        except (NoAuthError, NotEmptyError):
            log.warning("ZooKeeper node %s belongs to others: delete it", path)

    def commit(
        self,
        sets: Mapping[str, bytes],
        appends: Mapping[str, bytes] | None = None,
        creates: Mapping[str, bytes] | None = None,
    ) -> None:
        """Set nodes' data, append sequential nodes below others, make new ones: at once.

        Parameters
        ----------
        sets : mapping of str to bytes
            By path; the nodes are there.
        appends : mapping of str to bytes, optional
            By path of the parent.
        creates : mapping of str to bytes, optional
            By path; none of the nodes is there.

        Raises
        ------
        Unavailable
            The brain whose nodes these are does not lead (any more): nothing was written.
        """
        transaction = self.client.transaction()
        if self.fence is not None:
            transaction.check(self.fence, 0)
        for path, data in sets.items():
            transaction.set_data(path, data)
        for parent, data in (appends or {}).items():
            # kazoo drops a trailing slash here: the name needs a letter.
            transaction.create(f"{parent}/p", data, sequence=True)
        for path, data in (creates or {}).items():
            transaction.create(path, data)
        results = transaction.commit()
        if self.fence is not None and isinstance(results[0], NoNodeError):
            raise Unavailable("this brain does not lead any more")
        for result in results:
            if isinstance(result, KazooException) and not isinstance(result, RolledBackError):
                raise result

    def set_data(self, path: str, data: bytes) -> None:
        """Set one node's data, as `commit` does."""
        self.commit({path: data})

    def write_plan(
        self,
        plan: Plan,
        entry: Mapping[str, Any] | None = None,
        marked: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Publish a plan, in the place of whatever is there, with what belongs to it.

        Parameters
        ----------
        entry : mapping, optional
            Of the history.
        marked : mapping of str to mapping, optional
            Documents as for `write_marked`, by node.
        """
        path, content = self.path("plan"), encode_plan(plan)
        sets = {self.path(name): self._marked(name, each) for name, each in (marked or {}).items()}
        history = self.path("history")
        appends = {} if entry is None else {history: _history_json(entry)}
        for each in (*sets, history):
            self.client.ensure_path(each)

        def commit(path: str, data: bytes) -> None:
            self.commit({**sets, path: data}, appends)

        try:
            write_blob(self.client, path, content, commit)
        except NoAuthError:  # the node is another's, but it is in our folder
            self.client.delete(path)
            write_blob(self.client, path, content, commit)
        self._shorten_history()

    def read_plan(self) -> Plan | None:
        """Return the published plan, None if there is none.

        Raises
        ------
        InvalidInput
            It is damaged or of a newer stormcut.
        """
        path = self.path("plan")
        content = read_blob(self.client, path)
        return None if content is None else decode_plan(content, f"ZooKeeper node {path}")

    def is_led(self) -> bool:
        """Return whether a brain has published where it is."""
        return self.client.exists(self.path("leader")) is not None

    def has_plan(self) -> bool:
        """Return whether a plan is published; a damaged one, or another's, is none."""
        try:
            return blob_id(self.client, self.path("plan")) is not None
        except InvalidInput as error:
            log.warning("the published plan is none: %s", error)
            return False

    def append_history(self, entry: Mapping[str, Any]) -> None:
        """Append an entry and delete all but the last `HISTORY_KEPT`."""
        self.client.ensure_path(self.path("history"))
        self.commit({}, {self.path("history"): _history_json(entry)})
        self._shorten_history()

    def _shorten_history(self) -> None:
        history = self.path("history")
        for name in sorted(self.client.get_children(history))[:-HISTORY_KEPT]:
            with suppress(NoNodeError):
                self.client.delete(f"{history}/{name}")

    def read_history(self, limit: int) -> list[dict[str, Any]]:
        """Return the last ``limit`` entries, newest first.

        Entries that cannot be read are named in a warning and left out.
        """
        try:
            names = sorted(self.client.get_children(self.path("history")), reverse=True)
        except NoNodeError:
            return []
        return [entry for name in names[:limit] if (entry := self._entry(name)) is not None]

    def _entry(self, name: str) -> dict[str, Any] | None:
        # None: just dropped as too old.
        try:
            entry = self.read_json(f"history/{name}", "a history entry", HISTORY_VERSION)
            if entry is not None and not _is_history(entry):
                what = "is not a history entry"
                raise InvalidInput(what, f"ZooKeeper node {self.path(f'history/{name}')}")
            return entry
        except InvalidInput as error:
            log.warning("history entry left out: %s", error)
            return None

    def read_json(self, name: str, what: str, known: int) -> dict[str, Any] | None:
        """Return what a JSON node holds, None if there is no such node.

        Parameters
        ----------
        name : str
            Of the node, below the root.
        what : str
            What it should be, for the error.
        known : int
            The one version that can be read.

        Raises
        ------
        InvalidInput
            It is of another version, or damaged.
        """
        path = self.path(name)
        data = node_data(self.client, path)
        return None if data is None else parsed_json(path, data, what, known)

    def marked(self) -> dict[str, dict[str, Any]]:
        """Return what all nodes of `write_marked` hold, by name; damaged ones are left out."""
        documents = {}
        for name in self.client.get_children(self.root):
            path = self.path(name)
            try:
                document = json.loads(node_data(self.client, path) or b"null")
                is_blob = isinstance(document, dict) and "sha256" in document
                if isinstance(document, dict) and "hmac" in document and not is_blob:
                    documents[name] = self._unmarked(name, document)
            except (ValueError, RecursionError, InvalidInput) as error:
                log.warning("ZooKeeper node %s left out: %s", path, error)
        return documents

    def age_s(self, name: str) -> float:
        """Return how long ago a node was written, by ZooKeeper's clock; 0 if it is not there."""
        written = self.client.exists(self.path(name))
        if written is None:
            return 0.0
        clock = self.path("clock")
        self.client.ensure_path(clock)
        now = self.client.set(clock, b"")
        return max(float(now.mtime - written.mtime) / 1000, 0.0)

    def write_marked(self, name: str, document: Mapping[str, Any]) -> None:
        """Put a JSON document, marked by the secret, in the place of whatever is there."""
        path = self.path(name)
        self.client.ensure_path(path)
        self.set_data(path, self._marked(name, document))

    def _marked(self, name: str, document: Mapping[str, Any]) -> bytes:
        mark = self.seal.mark(name, json.dumps(document, sort_keys=True))
        return json.dumps({**document, "hmac": mark}).encode()

    def read_marked(self, name: str, what: str, known: int) -> dict[str, Any] | None:
        """Return what a node of `write_marked` holds, as `read_json` does.

        Raises
        ------
        InvalidInput
            As `read_json`; or its mark is not of this secret.
        """
        document = self.read_json(name, what, known)
        return None if document is None else self._unmarked(name, document)

    def _unmarked(self, name: str, document: Mapping[str, Any]) -> dict[str, Any]:
        content = {key: value for key, value in document.items() if key != "hmac"}
        where = f"ZooKeeper node {self.path(name)}"
        self.seal.check_mark(document.get("hmac"), where, name, json.dumps(content, sort_keys=True))
        return content

    def children(self, name: str) -> list[str]:
        """Return the names below a node, none if it is not there or not ours (logged once)."""
        try:
            names: list[str] = self.client.get_children(self.path(name))
        except NoNodeError:
            return []
        except NoAuthError:
            if name not in self._foreign:
                log.warning("ZooKeeper node %s belongs to others: not used", self.path(name))
            self._foreign.add(name)
            return []
        return names

    def write_profile(self, profile: Profile) -> None:
        """Publish a topology's profile in place of its last."""
        path = self.topology_path("profiles", profile.topology)
        write_blob(self.client, path, format_profile(profile).encode(), self.set_data)

    def delete_profile(self, topology: str) -> bool:
        """Withdraw a topology's profile; return whether there was one."""
        return delete_blob(self.client, self.topology_path("profiles", topology))

    def topology_path(self, kind: str, topology: str) -> str:
        """Return the absolute path of a topology's node of a kind, such as ``profiles``."""
        if not topology or "/" in topology or topology in (".", ".."):
            raise InvalidInput("is not a Storm topology id such as taxi-1-1700000000", topology)
        return self.path(f"{kind}/{topology}")

    def read_profiles(self) -> dict[str, Profile]:
        """Return all usable profiles by topology id; one that is not usable is logged once.

        A profile read before is not read again while its node names the same content.
        """
        topologies = self.children("profiles")
        known, self._profiles = self._profiles, {}
        for topology in topologies:
            read = self._profile(topology, known.get(topology))
            if read is not None:
                self._profiles[topology] = read
        return {name: profile for name, (_, profile) in self._profiles.items() if profile}

    def _profile(
        self, topology: str, known: tuple[str, Profile | None] | None
    ) -> tuple[str, Profile | None] | None:
        path = self.topology_path("profiles", topology)
        identity = ""
        try:
            identity = blob_id(self.client, path) or ""
            if known is not None and known[0] == identity:
                return known
            content = read_blob(self.client, path)
            if content is None:
                return None
            profile = parse_profile(content, f"ZooKeeper node {path}")
            if profile.topology != topology:
                raise InvalidInput(
                    f"holds a profile of {profile.topology}", f"ZooKeeper node {path}"
                )
        except InvalidInput as error:
            if known is None or known != (identity, None):
                log.warning("profile not used: %s", error)
            return identity, None
        log.info("profile of %s read (%s)", topology, identity[:8])
        return identity, profile


def _is_history(entry: Mapping[str, Any]) -> bool:
    """Return whether an entry, which is not signed, has what its readers rely on."""
    try:
        lines = [*entry["topologies"], *entry["declined"]]
        texts = [entry["plan"], *(line[key] for line in lines for key in ("topology", "reason"))]
        counts = [line["workers_restarted"] for line in entry["topologies"]]
        "".join(texts).encode()
    except (KeyError, TypeError, ValueError):
        return False
    counted = all(type(count) is int for count in (entry.get("created_ms"), *counts))
    return counted and 0 <= entry["created_ms"] <= _LAST_MS


def _history_json(entry: Mapping[str, Any]) -> bytes:
    content = json.dumps(entry).encode()
    if len(content) <= MAX_ENTRY_BYTES:
        return content
    counts = {key: len(entry[key]) for key in ("topologies", "declined")}
    message = "history entry of plan %s, %d bytes, stored without its lines"
    log.warning(message, entry["plan"], len(content), extra={"plan": entry["plan"]})
    return json.dumps({**entry, "topologies": [], "declined": [], "omitted": counts}).encode()
