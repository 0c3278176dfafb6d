"""Redis, with one clear error when it does not answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Seconds until a call is given up: far below the message timeout.
TIMEOUT_S = 2.0


class StoreDown(Exception):
    """Redis does not answer; what was asked of it must be asked again."""


class Store:
    """The Redis at `host:port`, reached when it is first needed, again after a failure.

    Parameters
    ----------
    address : str
        Its `host:port`, or `password@host:port`.
    """

    def __init__(self, address: str) -> None:
        # Only topologies with a store need the client.
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        password, _, self._address = address.rpartition("@")
        host, _, port = self._address.rpartition(":")
        self._errors = (redis.ConnectionError, redis.TimeoutError, redis.BusyLoadingError)
        self._client = redis.Redis(
            host=host,
            port=int(port),
            password=password or None,
            decode_responses=True,
            socket_timeout=TIMEOUT_S,
            socket_connect_timeout=TIMEOUT_S,
            # A failed tuple is replayed; waiting here would only hold up the others.
            retry=Retry(NoBackoff(), 0),
        )

    @contextmanager
    def client(self) -> Iterator[Any]:
        """Yield the client.

        Raises
        ------
        StoreDown
            Redis does not answer.
        """
        try:
            yield self._client
        except self._errors as error:
            raise StoreDown(f"Redis at {self._address} does not answer: {error}") from error


def address(value: Any) -> str:
    """Return a `host:port`, with or without `password@` before it.

    Raises
    ------
    ValueError
        It has another form.
    """
    host, _, port = str(value).rpartition(":")
    if not (host and port.isdigit()):
        raise ValueError(f"{value!r} must be host:port")
    return str(value)
