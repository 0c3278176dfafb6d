"""`stormcut docker`: a Storm cluster in containers with limited CPU, memory and bandwidth."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stormcut.cli.groups import Group
from stormcut.cli.interruption import interruptible
from stormcut.cli.invocation import command
from stormcut.cli.numbers import Finite, Whole
from stormcut.cli.steps import Steps
from stormcut.lab.cli.storm_settings import storm_settings
from stormcut.report.terminal import Grid, terminal

if TYPE_CHECKING:
    from stormcut.lab.adapters.clusters.docker import ClusterShape, ContainerStatus, DockerStatus

F = TypeVar("F", bound=Callable[..., Any])


def _name_option(function: F) -> F:
    return click.option(
        "--name", default="default", show_default=True, metavar="NAME", help="Name of the cluster."
    )(function)


def _shape_options(function: F) -> F:
    options = (
        click.option(
            "--nodes",
            default=3,
            show_default=True,
            type=Whole(1),
            help="Number of supervisors.",
        ),
        click.option(
            "--cpus",
            type=Finite(0, min_open=True),
            help="Cores of a node (of mean size); default: free.",
        ),
        click.option(
            "--bandwidth",
            metavar="RATE",
            help="A node's link each way, such as 50mbit, or out=50mbit,in=25mbit.",
        ),
        click.option(
            "--memory",
            default=1024,
            show_default=True,
            type=Whole(0),
            help="MB of a node; 0: free.",
        ),
        click.option(
            "--slots", default=2, show_default=True, type=Whole(1), help="Slots of each node."
        ),
        click.option(
            "--heterogeneous",
            metavar="NODESxSIZE,...",
            help="Sizes of the nodes: --cpus is shared out by them, the sum stays the same.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def _shape(
    nodes: int,
    cpus: float | None,
    bandwidth: str | None,
    memory: int,
    slots: int,
    heterogeneous: str | None,
) -> ClusterShape:
    from stormcut.lab.adapters.clusters.bandwidth import FREE, parse_bandwidth
    from stormcut.lab.adapters.clusters.docker.plan import ClusterShape, parse_sizes

    return ClusterShape(
        nodes,
        cpus,
        parse_bandwidth(bandwidth) if bandwidth else FREE,
        memory or None,
        parse_sizes(heterogeneous) if heterogeneous else (),
        slots,
    )


@click.group(cls=Group)
def docker() -> None:
    """Run a Storm cluster in Docker containers with limits.

    CPU, memory and bandwidth of each node are limited.

    \b
    Example:
      stormcut docker up --nodes 3 --cpus 0.3 --bandwidth 20mbit
      stormcut docker status
      stormcut docker down
    """


@docker.command()
@_name_option
@_shape_options
@click.option("--no-plugin", is_flag=True, help="Leave Storm as it is: its own scheduler, no hook.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A key of storm.yaml.")
def up(name: str, no_plugin: bool, settings: tuple[str, ...], **shape: Any) -> None:
    """Start ZooKeeper, Nimbus and a container for each node; return when all have registered.

    The first time, and when Storm, Java or streamparse changed, the image is made. Limits that the
    engine or the kernel refuses are left out; that is said here and shown by `status`.

    \b
    Examples:
      stormcut docker up --nodes 3 --cpus 0.3 --bandwidth 20mbit
      stormcut docker up --nodes 10 --cpus 0.3 --bandwidth 50mbit --heterogeneous 3x6,3x4,4x2
    """
    from stormcut.lab.adapters.clusters.docker import DockerCluster

    wanted, config = _shape(**shape), storm_settings(settings)
    steps = Steps("docker")
    title = f"starting Storm 1.2.4 in {wanted.nodes + 2} containers"
    with interruptible(lambda: DockerCluster.clear(name)), steps.step(title) as update:
        started = DockerCluster.up(wanted, name, not no_plugin, config, update)
    for line in _marks(started.refused):
        steps.say(line)
    option = "" if name == "default" else f" --name {name}"
    click.echo(f"ZooKeeper {started.zookeeper_address}, Nimbus {started.nimbus_address}")
    click.echo(f"Storm homes and logs: {started.folder}")
    click.echo(f'Point commands at it: eval "$({command()} docker env{option})"')
    click.echo(f"Start a brain: {command()} brain --bind {started.host} --insecure-bind")
    click.echo(f"Next: {command()} docker status{option}; {command()} docker down{option}")


@docker.command()
@_name_option
@click.option("--json", "as_json", is_flag=True, help="Print the status as JSON.")
def status(name: str, as_json: bool) -> None:
    """Show containers, the limits that the kernel has for them, slots in use and topologies.

    \b
    Example:
      stormcut docker status --json
    """
    from stormcut.lab.adapters.clusters.docker import DockerCluster

    now = DockerCluster.open(name).status()
    if as_json:
        click.echo(json.dumps(asdict(now), indent=2))
        return
    console = terminal()
    _table(now).print(console)
    for line in _marks(now.refused):
        console.print(line, style="red", markup=False)
    if now.storm is None:
        console.print(f"Nimbus does not answer: docker logs stormcut-{name}-nimbus")
    for topology in now.storm.topologies if now.storm else ():
        console.print(
            f"topology {topology.id}: {topology.status}, {topology.executors} executors in "
            f"{topology.workers} workers, up for {topology.uptime_s} s"
        )


@docker.command()
@_name_option
def down(name: str) -> None:
    """Remove the cluster's containers, network, files and logs, whether it runs or is broken.

    \b
    Example:
      stormcut docker down
    """
    from stormcut.lab.adapters.clusters.docker import DockerCluster

    with Steps("docker").step(f"removing cluster {name}"):
        removed = DockerCluster.clear(name)
    click.echo(f"{removed} containers removed" if removed else "no containers were left")


@docker.command()
@_name_option
def env(name: str) -> None:
    """Print export lines that point stormcut's other commands at this cluster.

    \b
    Example:
      eval "$(stormcut docker env)"
    """
    from stormcut.lab.adapters.clusters.docker import DockerCluster

    click.echo(DockerCluster.open(name).exports())


@docker.command()
@_name_option
@click.argument("state", type=click.Choice(["on", "off"]))
def limits(name: str, state: str) -> None:
    """Set the nodes' CPU limits, or take them off while workers start.

    \b
    Example:
      stormcut docker limits off
    """
    from stormcut.lab.adapters.clusters.docker import DockerCluster

    cluster = DockerCluster.open(name)
    if state == "off":
        cluster.lift()
        return
    cluster.limit()
    for line in _marks(cluster.refused):
        click.echo(line, err=True)


@docker.command()
@_name_option
@click.argument("action", type=click.Choice(["install", "remove"]))
def plugin(name: str, action: str) -> None:
    """Install stormcut's plugin in every container's Storm home, or take it out.

    Nimbus restarts; topologies go on where they are.

    \b
    Example:
      stormcut docker plugin remove
    """
    from stormcut.lab.adapters.clusters.docker import DockerCluster

    cluster = DockerCluster.open(name)
    with Steps("docker").step(f"plugin: {action}, and a restart of Nimbus"):
        if action == "install":
            cluster.install_plugin()
            return
        removed = cluster.remove_plugin()
    for container, each in removed.items():
        click.echo(f"{container}: removed {', '.join(each.taken) or 'nothing'}")
    if any(each.left for each in removed.values()):
        click.echo(
            "The hook's jar stays for topologies that were submitted with it: once none runs,"
            f" {command()} docker plugin remove --name {name}"
        )


@docker.command()
@click.option("--remove", is_flag=True, help="Remove the images instead.")
def image(remove: bool) -> None:
    """Make the image of all containers, which `up` does too when it is needed.

    \b
    Example:
      stormcut docker image
    """
    from stormcut.lab.adapters.clusters.docker import image
    from stormcut.lab.adapters.clusters.docker.engine import engine

    steps = Steps("docker")
    with interruptible(), engine() as client:
        if remove:
            for name in image.remove(client):
                click.echo(f"removed: {name}")
            return
        with steps.step(f"making {image.IMAGE}") as update:
            image.ensure(client, update)


@docker.command()
@_shape_options
def compose(**shape: Any) -> None:
    """Print a Compose file of the cluster that `up` would start.

    \b
    Example:
      stormcut docker compose --nodes 3 --cpus 0.3 --bandwidth 20mbit > docker/compose.yaml
    """
    from stormcut.lab.adapters.clusters.docker.compose import compose_file

    click.echo(compose_file(_shape(**shape)), nl=False)


def _marks(refused: Any) -> list[str]:
    return [f"NOT LIMITED: {kind} ({why})" for kind, why in refused.items()]


def _table(now: DockerStatus) -> Grid:
    used = (
        {s.host: f"{s.used_slots} of {s.slots}" for s in now.storm.supervisors} if now.storm else {}
    )
    table = Grid(f"cluster {now.name}").name("container").labels("address", "state")
    table.figures("cores", "memory\nMB", "sends", "receives", "slots\nused")
    for container in now.containers:
        table.row(
            container.name,
            container.address,
            container.state,
            *_limits(container),
            used.get(container.address, ""),
        )
    return table


def _limits(container: ContainerStatus) -> tuple[str, str, str, str]:
    """Return what the kernel has, each marked if it is not what was asked for."""
    wanted, now = container.wanted, container.effective
    if now is None:
        return "", "", "", ""
    cpus = "free" if now.cpus is None else f"{now.cpus:.3g}"
    memory = "free" if now.memory_mb is None else str(now.memory_mb)
    link = wanted.bandwidth
    return (
        cpus + _unlike(wanted.cpus, now.cpus),
        memory + _unlike(wanted.memory_mb, now.memory_mb),
        (now.rate_out or "free") + _unlike(link.out_bits, now.rate_out),
        (now.rate_in or "free") + _unlike(link.in_bits, now.rate_in),
    )


def _unlike(wanted: float | None, now: float | str | None) -> str:
    return " [red](not limited)[/red]" if wanted is not None and now is None else ""
