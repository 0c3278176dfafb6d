"""The keys of the controller's configuration: types, defaults and what they mean."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from stormcut.adapters.files.keys import Keys
from stormcut.adapters.zookeeper.paths import DEFAULT_ROOT
from stormcut.control.decide.adviser import ENOUGH
from stormcut.control.policy import QuietTime
from stormcut.placement.options import DEFAULT_ALGORITHM

_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]+)?)\s*(s|min|h)?")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY = "|".join(_DAYS)
_QUIET = re.compile(rf"(?:({_DAY})(?:-({_DAY}))? +)?(\d\d):(\d\d)-(\d\d):(\d\d)", re.ASCII)


def _seconds(value: object) -> object:
    """Return the seconds of ``30 min``; what is no text stays as it is."""
    if not isinstance(value, str):
        return value
    match = _DURATION.fullmatch(value.strip())
    if match is None:
        raise ValueError("must be a time such as 10 s, 30 min or 2 h")
    return float(match[1]) * _UNITS[match[2] or "s"]


def _quiet(value: object) -> QuietTime:
    """Return the time of ``22:00-06:00`` or ``Sat-Sun 00:00-24:00``."""
    match = _QUIET.fullmatch(str(value).strip())
    if match is None:
        raise ValueError('must be such as "22:00-06:00" or "Sat-Sun 00:00-24:00"')
    start = int(match[3]) * 60 + int(match[4])
    end = int(match[5]) * 60 + int(match[6])
    if start >= 1440 or end > 1440 or int(match[4]) > 59 or int(match[6]) > 59 or start == end:
        raise ValueError("must be two times of the day that differ, up to 24:00")
    first = _DAYS.index(match[1]) if match[1] else 0
    last = _DAYS.index(match[2] or match[1]) if match[1] else 6
    days = frozenset((first + n) % 7 for n in range((last - first) % 7 + 1))
    return QuietTime(start, end, days)


def quiet_words(time: QuietTime) -> str:
    """Return what `_quiet` reads."""
    clock = "-".join(f"{minute // 60:02}:{minute % 60:02}" for minute in (time.start, time.end))
    if len(time.days) == len(_DAYS):
        return clock
    (first,) = (day for day in time.days if (day - 1) % 7 not in time.days)
    last = (first + len(time.days) - 1) % 7
    return f"{_DAYS[first]}{'' if first == last else f'-{_DAYS[last]}'} {clock}"


def _option(value: object) -> str:
    """Return a value as `parse_options` takes it; a list's elements are separated by commas."""
    if isinstance(value, list):
        return ",".join(map(_option, value))
    if isinstance(value, dict):
        raise ValueError("must be a word, a number or a list")
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0, le=366 * 86400)]
Quiet = Annotated[QuietTime, BeforeValidator(_quiet)]
Options = dict[str, Annotated[str, BeforeValidator(_option)]]


class ZooKeeperKeys(Keys):
    """Where ZooKeeper is, and the secret that Nimbus has, too."""

    servers: str = Field(description="host:port, several separated by commas")
    auth_file: str = Field(description="one line user:password, mode 0600; Nimbus has the same")
    root: str = Field(DEFAULT_ROOT, description="path of stormcut's nodes")


class ListenKeys(Keys):
    """Where Nimbus reaches the controller."""

    address: str = Field("127.0.0.1", description="where Nimbus reaches the controller")
    port: int = Field(0, ge=0, le=65535, description="0: any free one")
    insecure: bool = Field(
        False, description="without tls: allow an address that other machines reach"
    )


class TlsKeys(Keys):
    """The certificates by which it is reached."""

    folder: str | None = Field(
        None, description="of `stormcut certs issue`, role brain; null: nothing is encrypted"
    )


class HttpKeys(Keys):
    """Where metrics, health and state are served."""

    address: str = Field("127.0.0.1", description="without tls loopback only")
    port: int | None = Field(
        None, ge=0, le=65535, description="/metrics, /healthz, /readyz, /status; null: none"
    )


class PlacementKeys(Keys):
    """How placements are chosen."""

    algorithm: str = Field(DEFAULT_ALGORITHM, description="see `stormcut algorithms`")
    options: Options = Field({}, description="of the algorithm")
    min_gain: float = Field(
        0.05, ge=0, le=1, description="least gain in head-room, or traffic saved, as a share"
    )
    enough: float = Field(
        ENOUGH, gt=1, description="head-room beyond which more of it is worth no move"
    )
    unmeasured: Literal["spread", "pack"] = Field(
        "spread",
        description="what is new: spread over its workers, as Storm would; pack: by its structure",
    )
    costs: str | None = Field(None, description="file of `stormcut calibrate`")


class KafkaKeys(Keys):
    """Metrics through Kafka."""

    servers: str
    topic: str
    jars: str
    options: Options = Field({})


class ObserveKeys(Keys):
    """What is measured, and how."""

    logs: list[str] = Field(
        [], description="folders of Storm's logs here, or copies that rsync or NFS brings"
    )
    kafka: KafkaKeys | None = Field(
        None,
        description="{servers: host:9092, topic: stormcut, jars: folder}: lines that workers write"
        " there; jars: of Spark's connector (docs/kafka.md); options: {}: of Kafka's consumer",
    )
    spool: str = Field(
        "spool", description="folder, or address that Spark reads, where closed pieces appear"
    )
    every: Seconds = Field(10.0, ge=1, description="time between two looks at the metrics")
    half_life: Seconds = Field(60.0, ge=1, description="older measurements count half as much")
    warm_up: Seconds = Field(10.0, description="of a task that has started, not counted")
    keep: Seconds = Field(86400.0, description="pieces that nobody reads go after this")
    spark_master: str = Field("local[2]", description="where Spark runs")


class PolicyKeys(Keys):
    """When what runs is moved."""

    name: Literal["worth", "periodic", "own", "never"] = Field(
        "worth",
        description="worth: where a change pays; periodic; own: the algorithm's own rule; never",
    )
    period: Seconds | None = Field(
        None, description="of periodic, and of own (then 30 s unless it is given)"
    )
    horizon: Seconds = Field(1800.0, description="a move must pay within this")
    cool_down: Seconds = Field(300.0, description="a topology that has moved stays so long")
    restarts_per_round: int | None = Field(None, ge=1, description="most workers at a time")
    restarts_per_hour: int | None = Field(60, ge=1, description="most workers in an hour")
    restarts_per_node: int | None = Field(None, ge=1, description="most on one node at a time")
    workers_at_a_time: int | None = Field(
        None, ge=1, description="of one move, where it can be staged; null: as budgets allow"
    )
    take_back: bool = Field(
        True, description="automatic mode: what does worse since a plan goes back by itself"
    )
    taken_back_for: Seconds = Field(1800.0, description="then not moved so long, each time double")
    quiet_hours: list[Quiet] = Field([], description="such as 22:00-06:00: nothing moves then")
    restart_cost: Seconds | None = Field(
        None,
        description="of all workers of a topology, in time of its work; null: as measured, 20 s"
        " until then",
    )


class RuleKeys(Keys):
    """What holds for the topologies whose names match."""

    match: str
    pin: bool = False
    priority: int = 0
    drain: Seconds | None = None
    nodes: list[str] = Field([])
    most_nodes: int | None = Field(None, ge=1)
    alone: bool = False
    workers: Literal["keep", "pack", "any"] | None = None


class Document(Keys):
    """The file as it is written; `example` shows its keys."""

    mode: Literal["advise", "approve", "automatic"] = Field(
        "advise",
        description="advise: only says; approve: waits for `stormcut approve`; automatic: acts",
    )
    zookeeper: ZooKeeperKeys
    listen: ListenKeys = ListenKeys()
    tls: TlsKeys = TlsKeys()
    http: HttpKeys = HttpKeys()
    placement: PlacementKeys = PlacementKeys()
    observe: ObserveKeys = ObserveKeys()
    policy: PolicyKeys = PolicyKeys()
    topologies: list[RuleKeys] = Field(
        [],
        description="{match: payments*, pin: true}: never moved; priority: who goes first;"
        " drain: 20 s: its spouts rest so long before it moves; nodes: [rack7-*]: only there;"
        " most_nodes: 3; alone: true: nothing else on its nodes; workers: keep: as many as it asks"
        " for",
    )
    nimbus: str | None = Field(
        None, description="host:port, several separated by commas; for drain"
    )
    drained: list[str] = Field([], description="nodes, by id or host, that shall run nothing")
