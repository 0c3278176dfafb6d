"""`stormcut brain`: serve plans until told to stop."""

from __future__ import annotations

from pathlib import Path

import click

from stormcut.adapters.machine.log_lines import FORMATS, TEXT, log_to_stderr
from stormcut.adapters.tls.channel import Tls
from stormcut.cli import completion
from stormcut.cli.addresses import Address, given_address
from stormcut.cli.numbers import Finite, Whole
from stormcut.cli.outputs import OutputFolder
from stormcut.cli.tls_option import tls_option
from stormcut.cli.zookeeper_options import zookeeper_options
from stormcut.placement.options import DEFAULT_ALGORITHM


@click.command()
@zookeeper_options
@tls_option
@click.option(
    "--bind",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to listen on and to publish.",
)
@click.option(
    "--port",
    default=0,
    show_default=True,
    type=Whole(0, 65535),
    help="Port to listen on; 0: any free one.",
)
@click.option(
    "--insecure-bind",
    is_flag=True,
    help="Allow a --bind that other machines reach: what is said there is signed, but not"
    " encrypted.",
)
@click.option(
    "--algorithm",
    "algorithm_name",
    default=DEFAULT_ALGORITHM,
    show_default=True,
    metavar="NAME",
    shell_complete=completion.algorithms,
    help="Algorithm that places executors (stormcut algorithms lists all).",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=completion.algorithm_options,
    help="An option of the algorithm, such as objective=headroom.",
)
@click.option(
    "--min-gain",
    default=0.05,
    show_default=True,
    type=Finite(0, 1),
    help="Move a running topology only if its head-room grows by this share, or as much of its "
    "traffic between nodes goes.",
)
@click.option(
    "--unmeasured",
    type=click.Choice(("spread", "pack")),
    default="spread",
    show_default=True,
    help="Place a topology that was never measured on as many workers as it asks for, as Storm"
    " would, or pack it by its structure.",
)
@click.option(
    "--record",
    type=OutputFolder(),
    help="Folder for the problem and the answer behind every decision, for `stormcut place`.",
)
@click.option(
    "--costs",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What transfer costs here, from `stormcut calibrate`, instead of what is shipped; read "
    "when the brain starts.",
)
@click.option(
    "--http",
    metavar="HOST:PORT",
    callback=given_address,
    help="Answer /metrics (Prometheus), /healthz, /readyz and /status there; without --tls on this"
    " machine alone. Port 0: any free one, which the log names. None unless given.",
)
@click.option(
    "--log-format",
    type=click.Choice(FORMATS),
    default=TEXT,
    show_default=True,
    help="Lines of the log for people, or as JSON objects.",
)
def brain(
    zookeeper: str,
    auth_file: Path,
    root: str,
    tls: Tls | None,
    bind: str,
    port: int,
    insecure_bind: bool,
    algorithm_name: str,
    options: tuple[str, ...],
    min_gain: float,
    unmeasured: str,
    record: Path | None,
    costs: Path | None,
    http: Address | None,
    log_format: str,
) -> None:
    """Serve plans to Nimbus, without measuring.

    One of several brains leads; the others stand by.

    \b
    Example:
      stormcut brain --zookeeper localhost:2181 --auth-file ~/.stormcut-auth
      stormcut brain --costs costs.json --record decisions/
      stormcut brain --http 127.0.0.1:9464 --log-format json
      stormcut brain --tls /etc/stormcut-tls --bind 10.0.0.7 --http 10.0.0.7:9464
    """
    from stormcut.adapters.files.costs_file import read_costs
    from stormcut.adapters.files.decision_files import DecisionFiles
    from stormcut.adapters.zookeeper.client import connected, read_auth_file
    from stormcut.cli.key_values import parse_pairs
    from stormcut.cli.serving import check_bind, check_http, serve
    from stormcut.control.decide.adviser import Settings
    from stormcut.placement.registry import algorithm, parse_options

    fitted = None if costs is None else read_costs(costs)
    settings = Settings(
        algorithm_name,
        parse_pairs(options),
        min_gain,
        costs=fitted,
        packs_unmeasured=unmeasured == "pack",
    )
    parse_options(algorithm(algorithm_name), settings.options)
    check_bind(bind, insecure_bind, tls)
    check_http(http, tls)
    credentials = read_auth_file(auth_file)
    recorder = None if record is None else DecisionFiles(record)
    log_to_stderr(log_format)
    with connected(zookeeper, credentials, is_patient=True) as client:
        serve(client, root, settings, bind, port, recorder, http, tls)
