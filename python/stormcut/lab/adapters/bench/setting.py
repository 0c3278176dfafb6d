"""The settings of benches: limits of the nodes, and how each topology is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from stormcut.adapters.files.keys import Keys, validated
from stormcut.adapters.files.yaml_document import read_yaml
from stormcut.adapters.machine.home import topologies
from stormcut.lab.adapters.clusters.bandwidth import FREE, parse_bandwidth
from stormcut.lab.adapters.clusters.docker import ClusterShape
from stormcut.lab.adapters.clusters.docker.plan import parse_sizes
from stormcut.lab.experiment.bench.plan import BenchPlan, Setting
from stormcut.model.errors import InvalidInput

#: Of a node: held workers of all schedulers keep theirs.
MEMORY_MB = 6144


def _bandwidth(value: object) -> object:
    """Return ``{out: 20mbit, in: 10mbit}`` as the option's text; what is no mapping stays."""
    if not isinstance(value, dict):
        return value
    if not value.keys() <= {"out", "in"} or not all(isinstance(v, str) for v in value.values()):
        raise ValueError("must be a text such as 20mbit, or {out: 20mbit, in: 10mbit}")
    return ",".join(f"{way}={rate}" for way, rate in value.items())


class _SettingKeys(Keys):
    """The file of a setting, key by key as `Setting` describes them."""

    summary: str
    nodes: int = Field(ge=1)
    cpus: float = Field(gt=0, allow_inf_nan=False)
    bandwidth: Annotated[str, BeforeValidator(_bandwidth)] = ""
    heterogeneous: str = ""
    room: float = Field(1.25, ge=1, allow_inf_nan=False)
    storm: dict[str, Any] = Field({})
    variants: list[str] = Field([])
    topologies: dict[str, dict[str, Any]] = Field(min_length=1)


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
    if not path.exists():
        raise InvalidInput(f"no such setting; there are {', '.join(names())}", f"--setting {name}")
    keys = validated(_SettingKeys, read_yaml(path), path)
    return Setting(path.stem, **keys.model_dump())


def shape_of(plan: BenchPlan) -> ClusterShape:
    """Return the shape of a bench's cluster; every scheduler has a slot of its own on each node.

    Raises
    ------
    InvalidInput
        The setting's limits are impossible.
    """
    setting = plan.setting
    return ClusterShape(
        setting.nodes,
        setting.cpus,
        parse_bandwidth(setting.bandwidth) if setting.bandwidth else FREE,
        MEMORY_MB,
        parse_sizes(setting.heterogeneous) if setting.heterogeneous else (),
        len(plan.placed_by),
    )
