import gzip
import os
import sys
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from streamparse.dsl.topology import TopologyType

from micro.settings import micro
from rig.options import command_line, declare
from rig.pace import Pace, rates
from stormcut.lab.adapters.storm.topology_project import check_options, load, names
from stormcut.model.errors import InvalidInput


def test_options_come_from_the_command_line_of_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["submit", "-n", "linear", "-o", "rig.scale=0.5", "-o", 'rig.rate="100,200"']
    monkeypatch.setattr(sys, "argv", ["/venv/bin/sparse", *arguments, "-o", "topology.workers=3"])
    assert command_line() == {"scale": 0.5, "rate": "100,200"}
    assert declare()["rate"] == [100.0, 200.0]
    monkeypatch.setattr(sys, "argv", ["/venv/bin/stormcut", *arguments])
    assert command_line() == {}


def test_the_configuration_holds_every_option_and_storm_key() -> None:
    config = declare({"rate": 5}, given={"payload": 7}).config(topology_workers=2)
    assert (config["rig.rate"], config["rig.payload"], config["topology.workers"]) == ([5.0], 7, 2)


def test_components_have_at_least_one_task() -> None:
    options = declare(given={"scale": 0.25})
    assert [options.tasks(size) for size in (16, 8, 1)] == [4, 2, 1]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rate", "fast"),
        ("rate", -1),
        ("rate", float("nan")),
        ("rate", "10,0"),
        ("scale", 0),
        ("replays", 1.5),
        ("replays", True),
        ("payload", -1),
        ("cpu.ms", float("inf")),
        ("speed", 100),
    ],
)
def test_options_that_cannot_be_used_name_the_key(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"rig\.{name}: "):
        declare(given={name: value})


def test_a_missing_or_empty_data_file_ends_the_submission(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"rig\.data: there is no data file .*nowhere"):
        declare(data="text/moby-dick.txt.gz", given={"data": "/nowhere"})
    (tmp_path / "empty").touch()
    with pytest.raises(ValueError, match=r"rig\.data: the data file .*empty is empty"):
        declare(data="text/moby-dick.txt.gz", given={"data": str(tmp_path / "empty")})


# Without a moment in it, for pytest names tests by it, and two of its processes must agree.
WHOLE = gzip.compress(b"a line of many\n" * 999, mtime=0)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"no gzip", "Not a gzipped file"),
        (WHOLE[:-9], "ended before the end-of-stream marker"),
        (WHOLE[:10] + b"\xff" * 20, "invalid block type"),
        (WHOLE[:-8] + b"\0" * 8, "CRC check failed"),
    ],
)
def test_a_data_file_that_cannot_be_unpacked_ends_the_submission(
    tmp_path: Path, content: bytes, why: str
) -> None:
    path = tmp_path / "lines.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=rf"rig\.data: the data file .* cannot be read: .*{why}"):
        declare(data="text/moby-dick.txt.gz", given={"data": str(path)})


def test_a_data_file_that_may_not_be_opened_ends_the_submission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lines"
    path.write_text("a line")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    # Root, who may run this, can open what others may not.
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(ValueError, match=r"rig\.data: .*lines cannot be read: Permission denied"):
        declare(data="text/moby-dick.txt.gz", given={"data": str(path)})


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_a_data_file_is_a_file(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "lines")
    with pytest.raises(ValueError, match=r"rig\.data: there is no data file .*lines"):
        declare(data="text/moby-dick.txt.gz", given={"data": str(tmp_path / "lines")})


def test_settings_of_the_micro_benchmarks_are_defaults() -> None:
    assert micro(given={"setting": "cpu"})["cpu.ms"] == 2.0
    assert micro(given={"setting": "cpu", "cpu.ms": 9})["cpu.ms"] == 9.0
    assert micro(given={})["payload"] == 10_000
    with pytest.raises(ValueError, match=r"rig\.setting: 'disk' must be one of cpu, network, io"):
        micro(given={"setting": "disk"})


def test_a_staircase_inverts_itself() -> None:
    pace = Pace(rates("10,20,5"), step_s=2.0)
    assert [pace.due(at) for at in (1, 2, 4, 6)] == [10, 20, 60, 70]
    for ordinal in range(100):
        assert pace.due(pace.moment(ordinal)) == pytest.approx(ordinal)


@pytest.mark.parametrize("name", names())
def test_every_component_has_the_tasks_that_an_option_names(
    name: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {part.name: part.tasks for part in load(name).components}
    wanted = {part: 20 + number for number, part in enumerate(known)}
    given = [f"rig.parallelism.{part}={tasks}" for part, tasks in wanted.items()]
    arguments = [word for option in given for word in ("-o", option)]
    monkeypatch.setattr(sys, "argv", ["/venv/bin/sparse", "submit", "-n", name, *arguments])
    spec = spec_from_file_location("submitted", project / "topologies" / f"{name}.py")
    assert spec and spec.loader
    spec.loader.exec_module(module := module_from_spec(spec))
    kinds = (each for each in vars(module).values() if isinstance(each, TopologyType))
    (topology,) = (each for each in kinds if each.__name__ != "Topology")
    parts = {**topology.thrift_topology.bolts, **topology.thrift_topology.spouts}
    assert {part: its.common.parallelism_hint for part, its in parts.items()} == wanted
    assert {part.name: part.tasks for part in load(name).components} == known
    assert {key: topology.config[key] for key in topology.config if "parallelism" in key} == {
        f"rig.parallelism.{part}": tasks for part, tasks in wanted.items()
    }


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ({"parallelism.splitt": 3}, "no such component; there are source, split, count"),
        ({"parallelism.split": 0}, "0 must be 1 or more"),
    ],
)
def test_tasks_of_no_component_are_refused(option: dict[str, int], why: str) -> None:
    (name,) = option
    with pytest.raises(InvalidInput, match=f"--option {name}.*{why}"):
        check_options("word_count", {"parallelism.count": 2, **option})
