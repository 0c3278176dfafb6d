"""The settings of benches: limits of the nodes, and how each topology is loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from stormcut.adapters.clusters.bandwidth import FREE, parse_bandwidth
from stormcut.adapters.clusters.docker import Shape
from stormcut.adapters.clusters.docker.plan import parse_sizes
from stormcut.adapters.machine.home import topologies
from stormcut.application.experiment.bench.plan import BenchPlan, Setting
from stormcut.model.errors import InvalidInput

#: Of a node: held workers of all schedulers keep theirs.
MEMORY_MB = 6144


def folder() -> Path:
    """Return where the settings are that come with stormcut."""
    return topologies().parent / "benchmarks" / "settings"


def names() -> list[str]:
    """Return the names of the settings that come with stormcut."""
    return sorted(path.stem for path in folder().glob("*.yaml"))


def read_setting(name: str) -> Setting:
    """Return a setting by its name or its file.

    Raises
    ------
    InvalidInput
        There is none, or its file is not as it should be.
    """
    path = Path(name) if name.endswith((".yaml", ".yml")) else folder() / f"{name}.yaml"
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(names())
        raise InvalidInput(f"no such setting; there are {known}", f"--setting {name}") from None
    # ValueError: a text that is not UTF-8, or a date that does not exist.
    except (OSError, ValueError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(f"cannot be read: {reason}", str(path)) from error
    try:
        return _checked(Setting(path.stem, **content))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"is no setting of a bench: {error}", str(path)) from error


def shape_of(plan: BenchPlan) -> Shape:
    """Return the shape of a bench's cluster; every scheduler has a slot of its own on each node.

    Raises
    ------
    InvalidInput
        The setting's limits are impossible.
    """
    setting = plan.setting
    return Shape(
        setting.nodes,
        setting.cpus,
        parse_bandwidth(setting.bandwidth) if setting.bandwidth else FREE,
        MEMORY_MB,
        parse_sizes(setting.heterogeneous) if setting.heterogeneous else (),
        len(plan.placed_by),
    )


def _checked(setting: Setting) -> Setting:
    for name, (fits, form) in _FORMS.items():
        value = getattr(setting, name)
        if not fits(value):
            raise ValueError(f"{name} must be {form}, not {value!r}")
    for topology, options in setting.topologies.items():
        if not _is_mapping(options):
            raise ValueError(f"topologies: {topology} must be {_OPTIONS}, not {options!r}")
    if not setting.topologies:
        raise ValueError("it names no topologies")
    return replace(setting, bandwidth=_as_text(setting.bandwidth))


def _as_text(bandwidth: str | Mapping[str, str]) -> str:
    if isinstance(bandwidth, str):
        return bandwidth
    return ",".join(f"{way}={rate}" for way, rate in bandwidth.items())


def _is_bandwidth(value: Any) -> bool:
    each_way = _is_mapping(value) and value.keys() <= {"out", "in"}
    return _is_text(value) or (each_way and all(map(_is_text, value.values())))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_text, value))


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and _is_number(value)


def _is_number(value: Any) -> bool:
    # YAML's yes and no are numbers to Python, as are its .nan and .inf.
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and float("-inf") < value < float("inf")


_OPTIONS = "a mapping of options, such as {payload: 100}"
#: By field, what its value must be, and that in words.
_FORMS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "summary": (_is_text, "a text"),
    "nodes": (lambda value: _is_whole(value) and value >= 1, "a whole number, 1 or more"),
    "cpus": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    "bandwidth": (_is_bandwidth, "a text such as 20mbit, or {out: 20mbit, in: 10mbit}"),
    "heterogeneous": (_is_text, "a text such as 2x3,3x2"),
    "room": (lambda value: _is_number(value) and value >= 1, "a number, 1 or more"),
    "storm": (_is_mapping, "a mapping of Storm keys, such as {topology.workers: 4}"),
    "variants": (_is_texts, "a list of schedulers, such as [cut:traffic=tuples]"),
    "topologies": (_is_mapping, "a mapping of names to options, such as {linear: {payload: 100}}"),
}
