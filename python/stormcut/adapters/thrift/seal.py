"""Seals: who knows the secret of the auth file has made this message (docs/protocol.md).

Requests to a brain, its replies and what is published in ZooKeeper carry an HMAC, which is checked
before anything of them is decoded; the head of a request has one of its own, checked before the
rest is read. Their key is derived from the secret, and so is ZooKeeper's password, which travels in
the clear: who hears that knows nothing of the other.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from secrets import token_bytes

from stormcut.model.errors import InvalidInput

MAGIC = b"SCT\x02"
NONCE_BYTES = 16
MAC_BYTES = 32
#: Clocks may differ by so much; so long a nonce is remembered at least.
SKEW_SECONDS = 300
_HEADER = struct.Struct(f"!4sq{NONCE_BYTES}s{MAC_BYTES}s{MAC_BYTES}s")
_REPLY_HEADER = struct.Struct(f"!4s{MAC_BYTES}s")

#: Before a request, and at least as much as before a reply.
HEADER_BYTES = _HEADER.size


class BadSeal(Exception):
    """Who sent this does not know the secret, or has sent it before, or to somebody else."""


@dataclass(frozen=True)
class Head:
    """The opened head of a request; ``mac`` is that of the message, which is not checked yet."""

    nonce: bytes
    time_ms: int
    mac: bytes


@dataclass(frozen=True)
class Request:
    """An opened request: what was asked, and what the reply is bound to."""

    payload: bytes
    nonce: bytes
    time_ms: int


class Seal:
    """Seals and opens by one secret.

    Parameters
    ----------
    secret : str
        ``user:password``.
    """

    def __init__(self, secret: str) -> None:
        self._key = _derived(secret, b"seal")

    def __repr__(self) -> str:
        return "Seal()"

    def request(self, reader: str, payload: bytes) -> tuple[bytes, bytes]:
        """Return a sealed request that only the brain named ``reader`` takes, and its nonce."""
        nonce, time_ms = token_bytes(NONCE_BYTES), int(time.time() * 1000)
        head = self._request_mac(b"head", reader, time_ms, nonce, struct.pack("!i", len(payload)))
        mac = self._request_mac(b"request", reader, time_ms, nonce, payload)
        return _HEADER.pack(MAGIC, time_ms, nonce, head, mac) + payload, nonce

    def open_head(self, reader: str, content: bytes, message_bytes: int) -> Head:
        """Return the head of a request if it is sealed, and for ``reader``.

        Parameters
        ----------
        content : bytes
            The first `HEADER_BYTES` of the request.
        message_bytes : int
            How many bytes follow.

        Raises
        ------
        BadSeal
            It is not.
        """
        if len(content) != _HEADER.size or not content.startswith(MAGIC[:-1]):
            raise BadSeal("it is not sealed by the secret of the auth file")
        magic, time_ms, nonce, head, mac = _HEADER.unpack(content)
        if magic != MAGIC:
            raise BadSeal("it is sealed as another version of stormcut does: upgrade the older")
        length = struct.pack("!i", message_bytes)
        wanted = self._request_mac(b"head", reader, time_ms, nonce, length)
        if not hmac.compare_digest(head, wanted):
            raise BadSeal("it is sealed by another secret, or for another brain")
        return Head(nonce, time_ms, mac)

    def open_request(self, reader: str, head: Head, payload: bytes) -> Request:
        """Return a request if its message is sealed as its head says.

        Raises
        ------
        BadSeal
            It is not.
        """
        wanted = self._request_mac(b"request", reader, head.time_ms, head.nonce, payload)
        if not hmac.compare_digest(head.mac, wanted):
            raise BadSeal("its message is not what its head has sealed")
        return Request(payload, head.nonce, head.time_ms)

    def reply(self, nonce: bytes, payload: bytes) -> bytes:
        """Return a sealed answer to the request with this nonce."""
        return _REPLY_HEADER.pack(MAGIC, self._mac(b"reply", nonce, payload)) + payload

    def open_reply(self, nonce: bytes, content: bytes) -> bytes:
        """Return what an answer to the request with this nonce says.

        Raises
        ------
        BadSeal
            It is not sealed so.
        """
        if len(content) < _REPLY_HEADER.size or not content.startswith(MAGIC):
            raise BadSeal("the answer is not sealed by the secret of the auth file")
        _, mac = _REPLY_HEADER.unpack_from(content)
        payload = content[_REPLY_HEADER.size :]
        if not hmac.compare_digest(mac, self._mac(b"reply", nonce, payload)):
            raise BadSeal("the answer is sealed by another secret, or for another question")
        return payload

    def mark(self, *parts: str) -> str:
        """Return the hexadecimal HMAC of texts without line ends, in this order."""
        return self._mac(b"node", _encoded("\n".join(parts))).hex()

    def check_mark(self, mark: object, where: str, *parts: str) -> None:
        """Refuse what is found at ``where`` unless ``mark`` is what `mark` returns for these texts.

        Raises
        ------
        InvalidInput
            It is not.
        """
        given = _encoded(mark) if isinstance(mark, str) else b""
        if not hmac.compare_digest(given, self.mark(*parts).encode()):
            raise InvalidInput("is not signed by the secret of the auth file", where)

    def _request_mac(
        self, kind: bytes, reader: str, time_ms: int, nonce: bytes, payload: bytes
    ) -> bytes:
        return self._mac(kind, reader.encode() + b"\n", struct.pack("!q", time_ms), nonce, payload)

    def _mac(self, kind: bytes, *parts: bytes) -> bytes:
        mac = hmac.new(self._key, b"stormcut " + kind + b"\n", hashlib.sha256)
        for part in parts:
            mac.update(part)
        return mac.digest()


def _encoded(text: str) -> bytes:
    """Return a text in UTF-8, also one with half a character, which JSON's escapes can name."""
    return text.encode(errors="surrogatepass")


def zookeeper_password(secret: str) -> str:
    """Return the password by which ZooKeeper knows who has the secret ``user:password``."""
    return _derived(secret, b"zookeeper").hex()


def _derived(secret: str, purpose: bytes) -> bytes:
    return hmac.digest(secret.encode(), b"stormcut " + purpose, hashlib.sha256)


class Freshness:
    """Takes each request once, and none that is older than clocks may differ."""

    def __init__(self) -> None:
        self._seen: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, request: Request) -> None:
        """Take a request.

        Raises
        ------
        BadSeal
            It came before, or long ago.
        """
        now, then = time.time(), request.time_ms / 1000
        if abs(now - then) > SKEW_SECONDS:
            raise BadSeal(
                f"the clocks of asker and brain are {abs(now - then):.0f} s apart;"
                f" {SKEW_SECONDS} are allowed"
            )
        with self._lock:
            while self._seen and next(iter(self._seen.values())) < now - 2 * SKEW_SECONDS:
                self._seen.popitem(last=False)
            if request.nonce in self._seen:
                raise BadSeal("the same request came before")
            self._seen[request.nonce] = now
