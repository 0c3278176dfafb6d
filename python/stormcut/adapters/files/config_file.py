"""The controller's configuration: one YAML file, checked as a whole (docs/operate.md)."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from stormcut.adapters.files.costs_file import read_costs
from stormcut.adapters.files.kafka_topic import KafkaTopic, check_topic, connector_jars
from stormcut.adapters.files.yaml_document import read_yaml
from stormcut.adapters.storm.nimbus import Nimbus
from stormcut.adapters.tls.channel import Tls
from stormcut.adapters.zookeeper.client import check_servers, read_auth_file
from stormcut.adapters.zookeeper.nodes import DEFAULT_ROOT, check_root
from stormcut.application.control.decide.adviser import ENOUGH, Settings
from stormcut.application.control.observe.observer import Watching
from stormcut.application.control.policy import Mode, Policy, QuietTime, Rule, TopologyRule
from stormcut.application.place import DEFAULT_ALGORITHM
from stormcut.model.errors import InvalidInput
from stormcut.placement.registry import ALGORITHMS, Algorithm, algorithm, parse_options

_UNITS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]+)?)\s*(s|min|h)?")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY = "|".join(_DAYS)
_QUIET = re.compile(rf"(?:({_DAY})(?:-({_DAY}))? +)?(\d\d):(\d\d)-(\d\d):(\d\d)", re.ASCII)

#: The papers' windows: StroMAX's of 30 s.
OWN_PERIOD_S = 30.0


def _seconds(value: object) -> object:
    """Return the seconds of ``30 min``; what is no text stays as it is."""
    if not isinstance(value, str):
        return value
    found = _DURATION.fullmatch(value.strip())
    if found is None:
        raise ValueError("must be a time such as 10 s, 30 min or 2 h")
    return float(found[1]) * _UNITS[found[2] or "s"]


def _quiet(value: object) -> QuietTime:
    """Return the time of ``22:00-06:00`` or ``Sat-Sun 00:00-24:00``."""
    found = _QUIET.fullmatch(str(value).strip())
    if found is None:
        raise ValueError('must be such as "22:00-06:00" or "Sat-Sun 00:00-24:00"')
    start = int(found[3]) * 60 + int(found[4])
    end = int(found[5]) * 60 + int(found[6])
    if start >= 1440 or end > 1440 or int(found[4]) > 59 or int(found[6]) > 59 or start == end:
        raise ValueError("must be two times of the day that differ, up to 24:00")
    first = _DAYS.index(found[1]) if found[1] else 0
    last = _DAYS.index(found[2] or found[1]) if found[1] else 6
    days = frozenset((first + n) % 7 for n in range((last - first) % 7 + 1))
    return QuietTime(start, end, days)


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


class _Section(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True
    )


class _ZooKeeper(_Section):
    servers: str = Field(description="host:port, several separated by commas")
    auth_file: str = Field(description="one line user:password, mode 0600; Nimbus has the same")
    root: str = Field(DEFAULT_ROOT, description="path of stormcut's nodes")


class _Listen(_Section):
    address: str = Field("127.0.0.1", description="where Nimbus reaches the controller")
    port: int = Field(0, ge=0, le=65535, description="0: any free one")
    insecure: bool = Field(
        False, description="without tls: allow an address that other machines reach"
    )


class _Tls(_Section):
    folder: str | None = Field(
        None, description="of `stormcut certs issue`, role brain; null: nothing is encrypted"
    )


class _Http(_Section):
    address: str = Field("127.0.0.1", description="without tls loopback only")
    port: int | None = Field(
        None, ge=0, le=65535, description="/metrics, /healthz, /readyz, /status; null: none"
    )


class _Placement(_Section):
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


class _Kafka(_Section):
    servers: str
    topic: str
    jars: str
    options: Options = {}


class _Observe(_Section):
    logs: list[str] = Field(
        [], description="folders of Storm's logs here, or copies that rsync or NFS brings"
    )
    kafka: _Kafka | None = Field(
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


class _Policy(_Section):
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
        None, ge=1, description="of one move, where it can be staged; null: all at once"
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


class _Rule(_Section):
    match: str
    pin: bool = False
    priority: int = 0
    drain: Seconds | None = None
    nodes: list[str] = []
    most_nodes: int | None = Field(None, ge=1)
    alone: bool = False


class Document(_Section):
    """The file as it is written; `example` shows its keys."""

    mode: Literal["advise", "approve", "automatic"] = Field(
        "advise",
        description="advise: only says; approve: waits for `stormcut approve`; automatic: acts",
    )
    zookeeper: _ZooKeeper
    listen: _Listen = _Listen()
    tls: _Tls = _Tls()
    http: _Http = _Http()
    placement: _Placement = _Placement()
    observe: _Observe = _Observe()
    policy: _Policy = _Policy()
    topologies: list[_Rule] = Field(
        [],
        description="{match: payments*, pin: true}: never moved; priority: who goes first;"
        " drain: 20 s: its spouts rest so long before it moves; nodes: [rack7-*]: only there;"
        " most_nodes: 3; alone: true: nothing else on its nodes",
    )
    nimbus: str | None = Field(
        None, description="host:port, several separated by commas; for drain"
    )
    drained: list[str] = Field([], description="nodes, by id or host, that shall run nothing")


@dataclass(frozen=True)
class Config:
    """What the file says, in the terms of those who do it."""

    zookeeper: str
    auth_file: Path
    root: str
    address: str
    port: int
    settings: Settings
    policy: Policy
    watching: Watching
    logs: tuple[Path, ...]
    kafka: KafkaTopic | None
    spool: str
    every_s: float
    warm_up_s: float
    keep_s: float
    spark_master: str
    http_address: str
    http_port: int | None
    tls: Tls | None
    nimbus: tuple[str, ...]


def read_config(path: Path) -> Config:
    """Read and check the whole file.

    Raises
    ------
    InvalidInput
        It cannot be read, or something in it cannot be used; all faults are named.
    """
    document = _document(path)
    faults: list[str] = []
    config = _config(document, path.parent, faults)
    if faults:
        raise _invalid(path, faults)
    return config


def effective(path: Path) -> dict[str, Any]:
    """Return all keys of a file that `read_config` takes, with the values that count; times in s.

    Raises
    ------
    InvalidInput
        As `read_config`.
    """
    read_config(path)
    found = _plain(_document(path))
    assert isinstance(found, dict)
    return found


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return {name: _plain(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return _quiet_words(value) if isinstance(value, QuietTime) else value


def _quiet_words(time: QuietTime) -> str:
    """Return what `_quiet` reads."""
    clock = "-".join(f"{at // 60:02}:{at % 60:02}" for at in (time.start, time.end))
    if len(time.days) == len(_DAYS):
        return clock
    (first,) = (day for day in time.days if (day - 1) % 7 not in time.days)
    last = (first + len(time.days) - 1) % 7
    return f"{_DAYS[first]}{'' if first == last else f'-{_DAYS[last]}'} {clock}"


def _document(path: Path) -> Document:
    content = read_yaml(path)
    # A section of which every key is commented out is as good as none.
    sections = Document.model_fields
    known = {key: v for key, v in content.items() if v is not None or key not in sections}
    try:
        return Document.model_validate(known)
    except ValidationError as error:
        raise _invalid(path, [_words(fault) for fault in error.errors()]) from error


def _invalid(path: Path, faults: list[str]) -> InvalidInput:
    return InvalidInput("; ".join(faults), str(path))


def _words(fault: ErrorDetails) -> str:
    """Return one fault in words: where, what, what would do."""
    where = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        known = get_close_matches(str(fault["loc"][-1]), _known_keys(fault["loc"][:-1]), 1)
        hint = f": did you mean {known[0]}?" if known else ""
        return f"{where}: unknown key{hint}"
    if fault["type"] == "model_type":
        return f"{where}: must be a mapping of {', '.join(_known_keys(fault['loc']))}"
    message = fault["msg"].removeprefix("Value error, ")
    return f"{where}: {message[0].lower()}{message[1:]}"


def _known_keys(path: tuple[int | str, ...]) -> list[str]:
    model: Any = Document
    for part in path:
        if isinstance(part, int):
            model = _Rule
        else:
            field = model.model_fields.get(part) if model else None
            annotation = field.annotation if field else None
            # A section may be optional.
            kinds = (annotation, *get_args(annotation))
            model = next((kind for kind in kinds if hasattr(kind, "model_fields")), None)
    return list(model.model_fields) if model else []


def _config(document: Document, folder: Path, faults: list[str]) -> Config:
    """Return the configuration; what cannot be used is added to the faults."""

    def checked(where: str, check: Any, *arguments: Any) -> Any:
        try:
            return check(*arguments)
        except InvalidInput as error:
            faults.append(f"{where}: {error}")
            return None

    def located(where: str, text: str) -> Path:
        return checked(where, _located, folder, text) or folder

    zookeeper, observe, policy = document.zookeeper, document.observe, document.policy
    auth_file = checked("zookeeper.auth_file", _located, folder, zookeeper.auth_file)
    if auth_file is not None:
        checked("zookeeper.auth_file", read_auth_file, auth_file)
    checked("zookeeper.servers", check_servers, zookeeper.servers)
    checked("zookeeper.root", check_root, zookeeper.root)
    tls = None
    if document.tls.folder is not None:
        tls_folder = checked("tls.folder", _located, folder, document.tls.folder)
        tls = tls_folder and checked("tls.folder", Tls, tls_folder)
    # A folder that cannot be used is one fault: it makes no address another.
    encrypts = document.tls.folder is not None
    checked("listen.address", _check_address, document.listen, encrypts)
    checked("http.address", _check_http, document.http, encrypts)
    placement = document.placement
    options = placement.options
    known = checked("placement.algorithm", algorithm, placement.algorithm)
    if known is not None:
        faults += _option_faults(known, options)
        if policy.name == "own" and known.acceptance is None:
            having = ", ".join(name for name, each in ALGORITHMS.items() if each.accepts_by)
            faults.append(f"policy.name: {known.name} has no rule of its own; {having} have")
    costs = None
    if placement.costs is not None:
        costs_file = checked("placement.costs", _located, folder, placement.costs)
        costs = costs_file and checked("placement.costs", read_costs, costs_file)
    logs = tuple(located("observe.logs", each) for each in observe.logs)
    kafka = None
    if (topic := observe.kafka) is not None:
        checked("observe.kafka", check_topic, topic.servers, topic.topic)
        jars_folder = checked("observe.kafka.jars", _located, folder, topic.jars)
        jars = jars_folder and checked("observe.kafka.jars", connector_jars, jars_folder)
        kafka = KafkaTopic(topic.servers, topic.topic, jars or (), topic.options)
    is_address = "://" in observe.spool
    spool = observe.spool if is_address else str(located("observe.spool", observe.spool))
    faults += _folder_faults(logs if is_address else (*logs, Path(spool)))
    if (policy.name == "periodic") != (policy.period is not None) and policy.name != "own":
        faults.append("policy.period: belongs to the policies periodic, which needs it, and own")
    nimbus = () if document.nimbus is None else tuple(document.nimbus.replace(" ", "").split(","))
    for each in nimbus:
        checked("nimbus", Nimbus.at, each)
    if not nimbus and any(rule.drain for rule in document.topologies):
        faults.append("topologies: drain needs nimbus: host:port")
    if any(rule.alone and rule.most_nodes is None for rule in document.topologies):
        faults.append("topologies: alone needs most_nodes: on how many nodes")
    period = policy.period or (OWN_PERIOD_S if policy.name == "own" else None)
    return Config(
        zookeeper.servers,
        auth_file or folder,
        zookeeper.root,
        document.listen.address,
        document.listen.port,
        Settings(
            placement.algorithm,
            options,
            placement.min_gain,
            costs=costs,
            enough=placement.enough,
            packs_unmeasured=placement.unmeasured == "pack",
        ),
        _policy(document, period),
        Watching(
            observe.half_life,
            period or float("inf"),
            policy.name != "never",
            policy.take_back and document.mode == "automatic",
            policy.taken_back_for,
        ),
        logs,
        kafka,
        spool,
        observe.every,
        observe.warm_up,
        observe.keep,
        observe.spark_master,
        document.http.address,
        document.http.port,
        tls,
        nimbus,
    )


def _located(folder: Path, text: str) -> Path:
    """Return a path, relative ones from the folder."""
    if not text.isprintable() or not text:
        raise InvalidInput("must be a path", repr(text))
    try:
        return folder / Path(text).expanduser()
    except RuntimeError as error:
        raise InvalidInput("there is no such user's home", text) from error


def _option_faults(chosen: Algorithm, options: dict[str, str]) -> list[str]:
    """Return what is wrong with each option: the parser tells of one at a time."""
    faults, left = [], dict(options)
    while True:
        try:
            parse_options(chosen, left)
        except InvalidInput as error:
            faults.append(f"placement.options: {error}")
            if left.pop(error.where.removeprefix("option "), None) is None:
                return faults
        else:
            return faults


def _folder_faults(folders: tuple[Path, ...]) -> list[str]:
    """Return which are no folders, or lie in one another: their lines would count twice."""
    faults = []
    try:
        real = [each.resolve() for each in folders]
        faults += [f"observe: {each} is no folder" for each in real if each.is_file()]
    except (OSError, RuntimeError) as error:
        return [f"observe: a folder cannot be reached: {error}"]
    for at, inner in enumerate(real):
        for other, outer in enumerate(real):
            if at != other and (outer in inner.parents or (outer == inner and other < at)):
                faults.append(f"observe: {folders[at]} and {folders[other]} lie in one another")
    return faults


def _policy(document: Document, period: float | None) -> Policy:
    policy = document.policy
    return Policy(
        Mode(document.mode),
        Rule(policy.name),
        period,
        policy.horizon,
        policy.cool_down,
        policy.restarts_per_round,
        policy.restarts_per_hour,
        policy.restarts_per_node,
        policy.workers_at_a_time,
        tuple(policy.quiet_hours),
        policy.restart_cost,
        tuple(
            TopologyRule(
                each.match,
                each.pin,
                each.priority,
                each.drain,
                tuple(each.nodes),
                each.most_nodes,
                each.alone,
            )
            for each in document.topologies
        ),
        tuple(document.drained),
    )


def _check_address(listen: _Listen, encrypts: bool) -> None:
    try:
        address = ipaddress.ip_address(listen.address)
    except ValueError as error:
        raise InvalidInput("must be one IP address of this machine") from error
    if address.is_unspecified:
        what = "is published for Nimbus to connect to: give one address, not all"
        raise InvalidInput(what)
    if not address.is_loopback and not listen.insecure and not encrypts:
        what = "other machines would reach it, and nothing is encrypted: set tls.folder, or"
        raise InvalidInput(f"{what} insecure: true in a network you trust")


def _check_http(http: _Http, encrypts: bool) -> None:
    try:
        is_loopback = ipaddress.ip_address(http.address).is_loopback
    except ValueError as error:
        raise InvalidInput("must be one IP address of this machine") from error
    if not is_loopback and not encrypts:
        raise InvalidInput("must be a loopback address such as 127.0.0.1: tls.folder is not set")
