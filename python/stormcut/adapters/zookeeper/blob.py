"""Blobs: content of any size in ZooKeeper, which allows 1 MB a node (docs/protocol.md)."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import uuid
import zlib
from collections.abc import Callable
from contextlib import suppress

from kazoo.exceptions import NoAuthError, NoNodeError, NotEmptyError

from stormcut.adapters.zookeeper.client import Client
from stormcut.model.errors import InvalidInput

BLOB_VERSION = 2
PART_BYTES = 512_000
#: Longest content accepted, unpacked: as for a Thrift message.
MAX_BLOB_BYTES = 64 * 1024 * 1024
MAX_PARTS = 1000
_ID = re.compile("[0-9a-zA-Z]+")


#: Sets the data of a node.
Commit = Callable[[str, bytes], object]


class TornBlob(Exception):
    """The parts do not make up what the node announces: a writer is at work, or died."""


def write_blob(client: Client, path: str, content: bytes, commit: Commit | None = None) -> str:
    """Write content under ``path`` and return the blob's new id.

    A reader sees the old content or the new one: parts first, then the node, then old parts go.

    Parameters
    ----------
    commit : callable, optional
        ``commit(path, data)`` sets the node's data: the moment from which the content counts.
    """
    if len(content) > MAX_BLOB_BYTES:
        raise InvalidInput(f"{len(content)} bytes; allowed are {MAX_BLOB_BYTES}", path)
    packed = gzip.compress(content, mtime=0)
    parts = [packed[index : index + PART_BYTES] for index in range(0, len(packed), PART_BYTES)]
    identity = uuid.uuid4().hex
    sha256 = hashlib.sha256(packed).hexdigest()
    client.ensure_path(path)
    for index, part in enumerate(parts):
        client.create(f"{path}/{identity}-{index}", part)
    meta = {
        "version": BLOB_VERSION,
        "id": identity,
        "parts": len(parts),
        "bytes": len(packed),
        "sha256": sha256,
        "hmac": client.seal.mark("blob", _name(path), identity, sha256),
    }
    (commit or client.set)(path, json.dumps(meta).encode())
    for child in client.get_children(path):
        if not child.startswith(f"{identity}-"):
            with suppress(NoNodeError):
                client.delete(f"{path}/{child}")
    return identity


def blob_id(client: Client, path: str) -> str | None:
    """Return the id of a blob's content, None if there is none: it changes with every write."""
    meta = _meta(client, path)
    return None if meta is None else str(meta["id"])


def read_blob(client: Client, path: str) -> bytes | None:
    """Return a blob's content, None if there is none.

    Raises
    ------
    InvalidInput
        It was written by a newer stormcut, or is damaged also at the second reading.
    """
    try:
        return _read(client, path)
    except TornBlob:
        pass
    try:
        return _read(client, path)
    except TornBlob as error:
        raise InvalidInput(f"damaged: {error}", f"ZooKeeper node {path}") from error


def delete_blob(client: Client, path: str) -> bool:
    """Delete a blob; return whether there was one."""
    try:
        client.set(path, b"")
        for child in client.get_children(path):
            with suppress(NoNodeError):
                client.delete(f"{path}/{child}")
        client.delete(path)
    except NoNodeError:
        return False
    except NotEmptyError:  # somebody writes at this moment: that content is newer, and stays
        pass
    return True


def node_data(client: Client, path: str) -> bytes | None:
    """Return what a node holds, None if there is no such node.

    Raises
    ------
    InvalidInput
        It belongs to others.
    """
    try:
        data: bytes = client.get(path)[0]
    except NoNodeError:
        return None
    except NoAuthError as error:
        what = "belongs to other credentials than those of the auth file"
        raise InvalidInput(what, f"ZooKeeper node {path}") from error
    return data


def _meta(client: Client, path: str) -> dict[str, object] | None:
    data = node_data(client, path)
    if not data:  # none, or made by a writer that has not come to the data yet
        return None
    where = f"ZooKeeper node {path}"
    try:
        meta = json.loads(data)
        version = meta["version"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInput("does not describe a blob", where) from error
    if version != BLOB_VERSION:
        raise InvalidInput(
            f"is of version {version}, this stormcut reads {BLOB_VERSION}: upgrade the older side",
            where,
        )
    sized = all(type(meta.get(key)) is int for key in ("parts", "bytes"))
    # Part of a path: whoever wrote it shall not choose which nodes are read.
    named = isinstance(meta.get("id"), str) and _ID.fullmatch(meta["id"])
    if not (sized and named and 0 <= meta["parts"] <= MAX_PARTS):
        raise InvalidInput("does not describe a blob", where)
    # Before anything is unpacked or decoded.
    marked = ("blob", _name(path), str(meta["id"]), str(meta.get("sha256")))
    client.seal.check_mark(meta.get("hmac"), where, *marked)
    result: dict[str, object] = meta
    return result


def _name(path: str) -> str:
    """Return what a blob is called below any root: content is signed for one place."""
    return path.rsplit("/", 1)[-1]


def _read(client: Client, path: str) -> bytes | None:
    meta = _meta(client, path)
    if meta is None:
        return None
    packed = b""
    for index in range(int(str(meta["parts"]))):
        part = node_data(client, f"{path}/{meta['id']}-{index}")
        if part is None:
            raise TornBlob(f"part {index} of {meta['parts']} is missing")
        packed += part
        if len(packed) > MAX_BLOB_BYTES:
            raise TornBlob(f"above {MAX_BLOB_BYTES} bytes")
    if len(packed) != meta["bytes"] or hashlib.sha256(packed).hexdigest() != meta.get("sha256"):
        raise TornBlob("its SHA-256 does not fit")
    return _unpacked(packed)


def _unpacked(packed: bytes) -> bytes:
    """Unpack without trusting the packed bytes to unpack to a sane size."""
    with gzip.open(io.BytesIO(packed)) as stream:
        try:
            content = stream.read(MAX_BLOB_BYTES + 1)
        except (OSError, EOFError, zlib.error) as error:
            raise TornBlob(f"cannot be unpacked: {error}") from error
    if len(content) > MAX_BLOB_BYTES:
        raise TornBlob(f"unpacks to above {MAX_BLOB_BYTES} bytes")
    return content
