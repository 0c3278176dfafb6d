"""`stormcut capacity`: threads, slots and machines for a rate, from what tasks can do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from stormcut.capacity.options import ALLOCATIONS, MAPPINGS, UTILISATION
from stormcut.cli.groups import Group
from stormcut.cli.numbers import Finite, seed_option
from stormcut.cli.outputs import OutputFolder
from stormcut.cli.tls_option import tls_option
from stormcut.cli.zookeeper_options import zookeeper_options
from stormcut.placement.options import DEFAULT_ALGORITHM

#: Algorithms by who places.
PLACED_BY = {"stormcut": DEFAULT_ALGORITHM, "storm": "default"}

placed_by_option = click.option(
    "--placed-by",
    "algorithm",
    type=click.Choice(list(PLACED_BY)),
    default="stormcut",
    show_default=True,
    callback=lambda _context, _option, name: PLACED_BY[name],
    help="Who will place executors: storm where the controller only advises.",
)

utilisation_option = click.option(
    "--utilisation",
    type=Finite(0, 1, min_open=True),
    default=UTILISATION,
    show_default=True,
    help="Part of every thread, CPU and link that may be used at these rates.",
)


@click.group(cls=Group)
def capacity() -> None:
    """Plan threads, slots and machines for a rate.

    \b
    Example:
      stormcut capacity allocate linear.json --models azure.json --rate 100
    """


def _asked(function: Callable[..., None]) -> Callable[..., None]:
    """Add what both commands ask for."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table."),
        click.option(
            "--allocation",
            type=click.Choice(ALLOCATIONS),
            default="mba",
            show_default=True,
            help="lsa scales one thread linearly, mba fills slots as measured.",
        ),
        click.option(
            "--rate", type=Finite(0), required=True, help="Tuples/s that enter the dataflow."
        ),
        click.option(
            "--models",
            type=click.Path(path_type=Path),
            required=True,
            metavar="MODELS",
            help="What threads of each task sustain and use.",
        ),
        click.argument("dag", type=click.Path(path_type=Path)),
    ):
        function = option(function)
    return function


@capacity.command()
@_asked
def allocate(**asked: Any) -> None:
    """Tell how many threads and slots DAG needs.

    DAG names the tasks of a dataflow, their models and who feeds whom; source and sink are not
    part of it. CPU and memory are in percent of a slot.

    \b
    Example:
      stormcut capacity allocate linear.json --models azure.json --rate 100 --allocation lsa
    """
    from stormcut.cli import capacity_plans

    capacity_plans.allocate(**asked)


@capacity.command("map")
@_asked
@click.option(
    "--mapping", type=click.Choice(MAPPINGS), required=True, help="How threads go to slots."
)
@click.option("--machines", metavar="SLOTS,...", help="Slots of each machine there is.")
@click.option("--acquire", metavar="SLOTS,...", help="Slots of the machines on offer.")
@click.option(
    "--exact",
    is_flag=True,
    help="Acquire several smaller machines for the rest instead of one that may be larger.",
)
@click.option(
    "--ends",
    is_flag=True,
    help="Place source and sink, too, as the paper's R-Storm does: dsm and rsm alone.",
)
@click.option(
    "--next-lower/--interpolate",
    default=False,
    show_default=True,
    help="Between two measured numbers of threads: the lower one's rate, or interpolated.",
)
def map_(**asked: Any) -> None:
    """Map the threads that DAG needs to slots, and predict the rate.

    With --acquire, machines are acquired until all threads find room, the largest first. Exit
    code 3: they find none on the --machines given.

    \b
    Example:
      stormcut capacity map linear.json --models azure.json --rate 100 --mapping sam --acquire 4,2,1
    """
    from stormcut.cli import capacity_plans

    capacity_plans.map_(**asked)


@capacity.command()
@click.argument("problem", type=click.Path(path_type=Path))
@click.option(
    "--rate",
    "--what-if",
    "rates",
    multiple=True,
    required=True,
    metavar="TOPOLOGY=RATE",
    help="Tuples/s of all its sources, or 2x of what they are in PROBLEM; may be repeated.",
)
@click.option(
    "--nodes",
    "shapes",
    type=click.Path(path_type=Path),
    metavar="SHAPES",
    help="Nodes to be had; without it, those of PROBLEM.",
)
@utilisation_option
@placed_by_option
@seed_option
@click.option(
    "--output", type=OutputFolder(), help="Folder for the planned problem and its placement."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def plan(**asked: Any) -> None:
    """Plan the executors and the fewest nodes that PROBLEM needs at other rates.

    Topologies of which no rate is given keep theirs. Exit code 3: the nodes there are do not carry
    it.

    \b
    Examples:
      stormcut capacity plan now.json --rate mine=2x
      stormcut capacity plan now.json --rate mine=5000 --nodes shapes.json
    """
    from stormcut.cli import capacity_plans

    capacity_plans.plan(**asked)


@capacity.command()
@click.argument("rates", nargs=-1, required=True, metavar="TOPOLOGY=RATE...")
@click.option(
    "--nodes",
    "shapes",
    type=click.Path(path_type=Path),
    metavar="SHAPES",
    help="Nodes to be had; without it, those of the cluster.",
)
@click.option(
    "--costs",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What transfer costs here, from `stormcut calibrate`, instead of what is shipped.",
)
@utilisation_option
@placed_by_option
@seed_option
@zookeeper_options
@tls_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def advise(**asked: Any) -> None:
    """Plan for what runs, as the controller measured it, with the lines for `storm rebalance`.

    RATE is in tuples/s of all sources, or a factor such as 2x. Refuses where a topology runs in
    part, or was measured for less than a minute. Exit code 3: the nodes do not carry it.

    \b
    Example:
      stormcut capacity advise mine=2x
      stormcut capacity advise mine=5000 --nodes shapes.json
      stormcut capacity advise mine=2x --placed-by storm
    """
    from stormcut.cli import capacity_plans

    capacity_plans.advise(**asked)
