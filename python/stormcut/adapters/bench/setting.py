"""The settings of benches: limits of the nodes, and how each topology is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from stormcut.adapters.home import topologies
from stormcut.model.errors import InvalidInput


@dataclass(frozen=True)
class Setting:
    """The same for every scheduler.

    Attributes
    ----------
    summary : str
        What binds, in a sentence.
    nodes : int
    cpus : float
        Cores of a node of mean size.
    bandwidth : str
        What a node may send, such as ``20mbit``; empty: no limit.
    heterogeneous : str
        Sizes of the nodes, such as ``2x3,3x2``; empty: all alike.
    room : float
        How many times its even share of the executors a node may hold.
    storm : mapping
        Storm keys of all topologies.
    variants : sequence of str
        Schedulers with options, measured beside the usual ones.
    topologies : mapping
        By topology, its options.
    """

    name: str
    summary: str
    nodes: int
    cpus: float
    bandwidth: str = ""
    heterogeneous: str = ""
    room: float = 1.25
    storm: Mapping[str, Any] = field(default_factory=dict)
    variants: Sequence[str] = ()
    topologies: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


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
    except (OSError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(f"cannot be read: {reason}", str(path)) from error
    try:
        return _checked(Setting(path.stem, **content))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"is no setting of a bench: {error}", str(path)) from error


def _checked(setting: Setting) -> Setting:
    for topology, options in setting.topologies.items():
        if not isinstance(options, dict):
            raise ValueError(f"topologies: {topology} must be a mapping of options")
    if not setting.topologies:
        raise ValueError("it names no topologies")
    if not setting.room >= 1:
        raise ValueError(f"room must be 1 or more, not {setting.room}")
    return setting
