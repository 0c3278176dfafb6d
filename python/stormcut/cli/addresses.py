"""Addresses to listen on, as options have them."""

from __future__ import annotations

import ipaddress
import socket
from typing import NamedTuple

import click

from stormcut.model.errors import InvalidInput


class Address(NamedTuple):
    """Where to listen; ``host`` is a number, not a name."""

    host: str
    port: int


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
        raise InvalidInput(f"is no address of this machine: {error}", where) from error


def loopback_address(
    ctx: click.Context, param: click.Parameter, value: str | None
) -> Address | None:
    """Return an option's ``HOST:PORT`` that no other machine reaches; IPv6 is ``[::1]:PORT``.

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
        address = resolved(bare, value)
    except InvalidInput as error:
        raise click.BadParameter(str(error), ctx, param) from error
    if not address.is_loopback:
        raise click.BadParameter(
            f"{value}: other machines would reach it, and nothing there is encrypted or asks who"
            " they are: use 127.0.0.1, and a proxy with TLS or ssh for others",
            ctx,
            param,
        )
    return Address(str(address), int(port))
