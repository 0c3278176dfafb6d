"""The Docker engine: reached, asked, and its refusals told in one line."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import docker
import psutil
import requests
from docker.errors import APIError, DockerException
from docker.models.containers import Container
from docker.models.networks import Network

from stormcut.lab.adapters.clusters.docker.plan import CLUSTER_LABEL
from stormcut.model.errors import InvalidInput, StormcutError

Engine = docker.DockerClient


@contextmanager
def engine() -> Iterator[Engine]:
    """Yield a client of the engine that ``DOCKER_HOST`` names, else of this machine's.

    Raises
    ------
    InvalidInput
        No engine answers, or it is not this user's to command.
    StormcutError
        The engine refuses something, in its own words.
    """
    try:
        client = docker.from_env(timeout=120)
    except DockerException as error:
        raise InvalidInput(
            f"does not answer ({_cause(error)}): start it, or become a member of its group"
            " (root: scripts/with-docker COMMAND starts one for a command)",
            "Docker engine",
        ) from error
    try:
        yield client
    except APIError as error:
        raise StormcutError(f"Docker refused: {reason(error)}") from error
    except requests.RequestException as error:
        raise StormcutError(f"the Docker engine does not answer: {_cause(error)}") from error
    finally:
        client.close()


def reason(error: APIError) -> str:
    """Return the engine's own words."""
    return " ".join(str(error.explanation or error).split())


def _cause(error: BaseException) -> str:
    while error.__cause__ or error.__context__:
        error = error.__cause__ or error.__context__ or error
    return str(error)


def containers_of(client: Engine, name: str) -> list[Container]:
    """Return all containers of a cluster, running or not."""
    return client.containers.list(all=True, filters={"label": f"{CLUSTER_LABEL}={name}"})


def networks_of(client: Engine, name: str) -> list[Network]:
    """Return the networks of a cluster."""
    return client.networks.list(filters={"label": f"{CLUSTER_LABEL}={name}"})


def taken_subnets(client: Engine) -> list[ipaddress.IPv4Network]:
    """Return the IPv4 networks of the engine and of this machine's interfaces."""
    texts = [
        config["Subnet"]
        for network in client.networks.list()
        for config in (network.attrs["IPAM"]["Config"] or ())
        if "Subnet" in config
    ]
    texts += [
        f"{address.address}/{address.netmask}"
        for addresses in psutil.net_if_addrs().values()
        for address in addresses
        if address.family == socket.AF_INET and address.netmask
    ]
    networks = (ipaddress.ip_network(text, strict=False) for text in texts)
    return [each for each in networks if isinstance(each, ipaddress.IPv4Network)]


def run_in(container: Container, *command: str) -> tuple[int, str]:
    """Run a command as root in a running container; return its exit code and output."""
    result = container.exec_run(list(command), user="0")
    output = cast(bytes, result.output)  # an iterator only where a stream was asked for
    return int(result.exit_code or 0), output.decode(errors="replace").strip()


def last_lines(container: Container, count: int = 10) -> str:
    """Return the end of what a container's daemon printed."""
    text = container.logs(tail=count, stream=False).decode(errors="replace").rstrip()
    return "\n".join(f"  {line}" for line in text.splitlines())
