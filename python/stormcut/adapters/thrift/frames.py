"""Frames, as Thrift's framed transport has them: a length, and as many bytes."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from stormcut.adapters.thrift.seal import HEADER_BYTES
from stormcut.adapters.thrift.values import MAX_MESSAGE_BYTES

#: A message with the head of its seal.
MAX_FRAME_BYTES = MAX_MESSAGE_BYTES + HEADER_BYTES
#: Of what comes after a refusal, so much is passed over, and for so long.
PARTING_SECONDS, PARTING_BYTES = 0.5, 1 << 20
_CHUNK = 1 << 16
_LENGTH = struct.Struct("!i")
#: How a TLS handshake begins.
_TLS_HANDSHAKE = 0x1603


class BadFrame(Exception):
    """What came is no frame: too long, too short, too slow, or cut off."""


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
    return receive(connection, receive_length(connection, deadline), deadline)


def receive_length(connection: socket.socket, deadline: float) -> int:
    """Return how many bytes the next frame's content has, as it announces; see `receive_frame`."""
    (length,) = _LENGTH.unpack(receive(connection, _LENGTH.size, deadline))
    if length >> 16 == _TLS_HANDSHAKE:
        raise BadFrame("the other side speaks TLS, but no certificates are named here")
    if not 0 < length <= MAX_FRAME_BYTES:
        raise BadFrame(f"a frame of {length} bytes; allowed are 1 to {MAX_FRAME_BYTES}")
    return int(length)


def receive(connection: socket.socket, size: int, deadline: float) -> bytes:
    """Return the next bytes of a frame; see `receive_frame`."""
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
            # Not sendall: over TLS it would grant every record the whole time again.
            if (seconds := deadline - time.monotonic()) <= 0:
                raise TimeoutError("not taken in time")
            connection.settimeout(seconds)
            left = left[connection.send(left) :]
    except OSError as error:
        raise BadFrame(str(error)) from error


def part(connection: socket.socket) -> None:
    """Say that no answer comes, and pass over some of what is still sent, for a short time.

    To close before that is read would reset the connection: the other side would see a fault of
    the network.
    """
    until, left = time.monotonic() + PARTING_SECONDS, PARTING_BYTES
    with suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
        while left > 0 and (seconds := until - time.monotonic()) > 0:
            connection.settimeout(seconds)
            passed = len(connection.recv(_CHUNK))
            if not passed:
                return
            left -= passed


class Budget:
    """How many bytes all clients together may have under way."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes
        self._lock = threading.Lock()

    @contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """Take so many bytes, and give them back.

        Raises
        ------
        BadFrame
            The others leave less than that.
        """
        with self._lock:
            if size > self._left:
                raise BadFrame(f"{size} bytes; the requests under way leave {self._left}")
            self._left -= size
        try:
            yield
        finally:
            with self._lock:
                self._left += size
