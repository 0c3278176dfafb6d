"""The controller's configuration: one YAML file, checked as a whole (docs/operate.md)."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from stormcut.adapters.files.config_keys import (
    Document,
    HttpKeys,
    ListenKeys,
    quiet_words,
)
from stormcut.adapters.files.costs_file import read_costs
from stormcut.adapters.files.kafka_topic import KafkaTopic, check_topic, connector_jars
from stormcut.adapters.files.keys import faults_in, invalid, sound, validated
from stormcut.adapters.files.yaml_document import read_yaml
from stormcut.adapters.storm.nimbus import NimbusClient
from stormcut.adapters.tls.channel import Tls
from stormcut.adapters.zookeeper.client import check_servers, read_auth_file
from stormcut.adapters.zookeeper.paths import check_root
from stormcut.control.decide.adviser import Settings
from stormcut.control.observe.observer import Watching
from stormcut.control.policy import Mode, Policy, QuietTime, Rule, TopologyRule
from stormcut.model.errors import InvalidInput
from stormcut.placement.registry import ALGORITHMS, Algorithm, algorithm, parse_options

#: The papers' windows: StroMAX's of 30 s.
OWN_PERIOD_S = 30.0


#: What stands for keys that must be there and are missing or wrong, while others are checked.
_SECRET = {"servers": "localhost:2181", "auth_file": "stormcut.auth"}
_FILL: dict[str, Any] = {
    "zookeeper": _SECRET,
    **{f"zookeeper.{key}": value for key, value in _SECRET.items()},
}


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
    content = _content(path)
    faults = faults_in(Document, content)
    # What is wrong with one key keeps no fault of another from being told.
    document = sound(Document, content, _FILL)
    filled = [key for key in _FILL if any(fault.startswith(f"{key}:") for fault in faults)]
    value_faults: list[str] = []
    config = None if document is None else _config(document, path.parent, value_faults)
    faults += [each for each in value_faults if not each.startswith(tuple(filled))]
    if faults or config is None:
        raise invalid(path, faults)
    return config


def effective(path: Path) -> dict[str, Any]:
    """Return all keys of a file that `read_config` takes, with the values that count; times in s.

    Raises
    ------
    InvalidInput
        As `read_config`.
    """
    read_config(path)
    plain = _plain(_document(path))
    assert isinstance(plain, dict)
    return plain


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return {name: _plain(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return quiet_words(value) if isinstance(value, QuietTime) else value


def _document(path: Path) -> Document:
    return validated(Document, _content(path), path)


def _content(path: Path) -> dict[str, Any]:
    content = read_yaml(path)
    # A section of which every key is commented out is as good as none.
    sections = Document.model_fields
    return {key: v for key, v in content.items() if v is not None or key not in sections}


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
        checked("nimbus", NimbusClient.at, each)
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
    for index, inner in enumerate(real):
        for other, outer in enumerate(real):
            if index != other and (outer in inner.parents or (outer == inner and other < index)):
                faults.append(f"observe: {folders[index]} and {folders[other]} lie in one another")
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
                each.workers,
            )
            for each in document.topologies
        ),
        tuple(document.drained),
    )


def _check_address(listen: ListenKeys, encrypts: bool) -> None:
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


def _check_http(http: HttpKeys, encrypts: bool) -> None:
    try:
        is_loopback = ipaddress.ip_address(http.address).is_loopback
    except ValueError as error:
        raise InvalidInput("must be one IP address of this machine") from error
    if not is_loopback and not encrypts:
        raise InvalidInput("must be a loopback address such as 127.0.0.1: tls.folder is not set")
