from pathlib import Path

import pytest

from stormcut.adapters.storm import plugin
from stormcut.lab.adapters.clusters.local import storm_yaml
from stormcut.lab.adapters.clusters.local.layout import Daemon, Layout, LocalState

STATE = LocalState(
    (
        Daemon("zookeeper", "127.0.0.1", (20000,)),
        Daemon("nimbus", "127.0.0.1", (20001,)),
        Daemon("supervisor-0", "127.0.1.1", (20002, 20003)),
        Daemon("supervisor-1", "127.0.1.2", (20004, 20005)),
    )
)


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setenv("STORMCUT_HOME", str(tmp_path))
    return Layout("x")


def test_daemons_meet_and_supervisors_differ(layout: Layout) -> None:
    nimbus = storm_yaml.nimbus_config(layout, STATE, {})
    first, second = (
        storm_yaml.supervisor_config(layout, STATE, daemon, {}) for daemon in STATE.supervisors
    )
    for key in ("storm.zookeeper.port", "nimbus.thrift.port"):
        assert nimbus[key] == first[key] == second[key]
    for key in ("storm.local.hostname", "storm.local.dir", "supervisor.slots.ports"):
        assert first[key] != second[key]
    assert second["supervisor.slots.ports"] == [20004, 20005]


def test_a_file_reads_back_and_overrides_win(layout: Layout, tmp_path: Path) -> None:
    overrides = {"supervisor.cpu.capacity": 100.0, "nimbus.monitor.freq.secs": 3}
    config = storm_yaml.supervisor_config(layout, STATE, STATE.supervisors[0], overrides)
    storm_yaml.write(tmp_path / "storm.yaml", config)
    assert storm_yaml.read(tmp_path / "storm.yaml").items() >= overrides.items()


def test_without_the_plugin_storm_stays_as_it_is(layout: Layout) -> None:
    configs = (
        storm_yaml.nimbus_config(layout, STATE, {}),
        storm_yaml.supervisor_config(layout, STATE, STATE.supervisors[0], {}),
    )
    for config in configs:
        assert plugin.clashes(config) == []
        assert not any(key.startswith("stormcut.") for key in config)


def test_zookeeper_listens_on_loopback_alone(layout: Layout) -> None:
    lines = storm_yaml.zookeeper_config(layout, STATE.zookeeper).splitlines()
    assert {"clientPortAddress=127.0.0.1", "clientPort=20000"} <= set(lines)
