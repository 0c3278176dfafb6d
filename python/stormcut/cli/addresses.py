"""Addresses, as options have them."""

from __future__ import annotations

import ipaddress
import socket
from typing import NamedTuple

import click

from stormcut.model.errors import InvalidInput


class Address(NamedTuple):
    """Where to listen, or who listens; ``host`` is a number, not a name."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def resolved(host: str, where: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Return the address of a host.

    Raises
    ------
    InvalidInput
        It has none; ``where`` names the option.
    """
    try:
        return ipaddress.ip_address(host if ":" in host else socket.gethostbyname(host))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"is no address: {error}", where) from error


def given_address(ctx: click.Context, param: click.Parameter, value: str | None) -> Address | None:
    """Return an option's ``HOST:PORT``; IPv6 is ``[::1]:PORT``.

    The host is looked up here, lest it be another one later.
    """
    if value is None:
        return None
    host, _, port = value.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    is_port = port.isascii() and port.isdigit() and int(port) <= 65535
    if not (bare and is_port) or (":" in bare) != (host != bare):
        what = f"{value!r} is not HOST:PORT, such as 127.0.0.1:9464"
        raise click.BadParameter(what, ctx, param)
    try:
        return Address(str(resolved(bare, value)), int(port))
    except InvalidInput as error:
        raise click.BadParameter(str(error), ctx, param) from error
