"""The embedded cluster with real daemons: every test leaves no process behind."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import shell_topology
from small_clusters import SLOW_BUT_SMALL

from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.local import LocalCluster, processes
from stormcut.lab.adapters.clusters.local.layout import Layout
from stormcut.model.errors import InvalidInput, StormcutError

pytestmark = pytest.mark.cluster

#: Nothing in the environment of a test run may clash with another run's clusters.
PREFIX = f"test-{os.getpid()}"
UP_S = 180.0


def _cli(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "stormcut.cli.main", "cluster", *arguments]


@pytest.fixture
def name(request: pytest.FixtureRequest) -> Iterator[str]:
    """Name a cluster that is gone after the test, whatever happened."""
    name = f"{PREFIX}-{request.node.name[:40]}"
    yield name
    LocalCluster.clear(name)
    Layout(name).lock_file.unlink()


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    # Without the first key, Nimbus holds a worker for alive for 120 s after its launch.
    config = {
        **SLOW_BUT_SMALL,
        "nimbus.task.launch.secs": 40,
        "nimbus.task.timeout.secs": 15,
    }
    with LocalCluster.up(f"{PREFIX}-shared", 2, 2, plugin=False, config=config) as cluster:
        yield cluster
    assert processes.of_cluster(cluster.folder) == []
    assert not cluster.folder.exists()
    Layout(cluster.name).lock_file.unlink()


def test_up_returns_with_everything_registered(cluster: LocalCluster) -> None:
    status = cluster.status()
    assert status.storm and status.storm.has_leader
    assert {each.host for each in status.storm.supervisors} == set(cluster.supervisor_hosts)
    assert [each.slots for each in status.storm.supervisors] == [2, 2]
    assert all(daemon.up and daemon.memory_mb for daemon in status.daemons)
    assert status.processes == len(status.daemons) == 4


def test_daemons_are_out_of_reach_of_the_terminal(cluster: LocalCluster) -> None:
    for daemon in cluster.status().daemons:
        assert daemon.pid and os.getsid(daemon.pid) == daemon.pid


def test_up_on_a_running_cluster_says_what_to_do(cluster: LocalCluster) -> None:
    shown = subprocess.run(
        _cli("up", "--name", cluster.name, "--no-plugin"), capture_output=True, text=True
    )
    assert shown.returncode == 2
    message = shown.stderr.strip().splitlines()[-1]
    assert "runs already" in message and f"down --name {cluster.name}" in message
    assert cluster.status().processes == 4


def test_the_commands_show_the_cluster(cluster: LocalCluster) -> None:
    def show(*arguments: str) -> str:
        command = _cli(*arguments, "--name", cluster.name)
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    status = json.loads(show("status", "--json"))
    assert [each["name"] for each in status["daemons"]] == [
        "zookeeper",
        "nimbus",
        "supervisor-0",
        "supervisor-1",
    ]
    table = show("status")
    assert "0 of 2" in table and max(map(len, table.splitlines())) <= 100
    assert f"export STORMCUT_ZOOKEEPER={cluster.zookeeper_address}\n" in show("env")
    assert "leadership" in show("logs", "nimbus")
    assert str(cluster.log_files()["supervisor-1"]) in show("logs")


def test_the_plugin_goes_in_and_out_and_a_dead_nimbus_is_restarted(cluster: LocalCluster) -> None:
    def stormcut(*arguments: object) -> str:
        command = [sys.executable, "-m", "stormcut.cli.main", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def pids() -> dict[str, int | None]:
        return {each.name: each.pid for each in LocalCluster.open(cluster.name).status().daemons}

    home, log = cluster.folder / "nimbus", cluster.log_files()["nimbus"]
    hosts = {each.host: each.id for each in cluster.nimbus.cluster().supervisors}
    told = stormcut("plugin", "install", home, "--auth-file", cluster.auth_file)
    assert f"cluster restart nimbus --name {cluster.name}" in told
    before, mark = pids(), log.stat().st_size
    stormcut("cluster", "restart", "zookeeper", "--name", cluster.name)
    assert not set(before.values()) & set(pids().values()), "Storm's daemons end without ZooKeeper"
    assert {each.host: each.id for each in cluster.nimbus.cluster().supervisors} == hosts
    assert "stormcut: plans come from" in log.read_text()[mark:]

    told = stormcut("plugin", "remove", "--hook", home)
    assert "restart Nimbus" in told
    nimbus = pids()["nimbus"]
    assert nimbus
    psutil.Process(nimbus).kill()
    wait_until(lambda: not cluster.status().daemons[1].up, 10.0, "Nimbus is dead")
    assert "Nimbus does not answer" in stormcut("cluster", "status", "--name", cluster.name)
    mark = log.stat().st_size
    stormcut("cluster", "restart", "nimbus", "--name", cluster.name)
    assert cluster.nimbus.cluster().has_leader
    assert "Using default scheduler" in log.read_text()[mark:]
    assert [each.up for each in cluster.status().daemons] == [True] * 4
    with pytest.raises(InvalidInput, match="there are zookeeper, nimbus, supervisor-0"):
        cluster.restart("pacemaker")


@pytest.mark.full
def test_a_second_cluster_runs_beside_the_first(cluster: LocalCluster, name: str) -> None:
    with LocalCluster.up(name, 1, 2, plugin=False) as second:
        assert not set(second.supervisor_hosts) & set(cluster.supervisor_hosts)
        ports = [
            port for each in (cluster, second) for d in each.status().daemons for port in d.ports
        ]
        assert len(ports) == len(set(ports))
        folder = second.folder
    assert processes.of_cluster(folder) == [] and not folder.exists()
    assert cluster.status().processes == 4


@pytest.mark.full
def test_a_topology_runs_and_survives_a_lost_node(cluster: LocalCluster) -> None:
    nimbus = cluster.nimbus
    shell_topology.submit(cluster.nimbus_address, "numbers")

    def acking_on(hosts: set[str]) -> bool:
        info = nimbus.topology("numbers")
        spouts = [executor for executor in info.executors if executor.is_spout]
        used = {executor.host for executor in info.executors}
        return len(info.executors) == 5 and used == hosts and all(s.acked for s in spouts)

    first, second = cluster.supervisor_hosts
    wait_until(lambda: acking_on({first, second}), 120.0, "tuples are acked on both nodes")
    assert cluster.status().processes > 4
    workers = [name for name in cluster.log_files() if name.startswith("numbers-")]
    assert len(workers) == 2

    before = {each.host: each.id for each in nimbus.cluster().supervisors}
    cluster.kill_supervisor(1)
    assert processes.of_cluster(cluster.folder, "supervisor-1") == []
    wait_until(lambda: acking_on({first}), 150.0, "the other node has taken over")
    cluster.start_supervisor(1)
    assert {each.host: each.id for each in nimbus.cluster().supervisors} == before

    nimbus.kill_topology("numbers")
    wait_until(lambda: not nimbus.cluster().topologies, 60.0, "the topology is gone")
    wait_until(lambda: cluster.status().processes == 4, 60.0, "its workers are gone")


def test_workers_outlive_their_supervisor_and_down_ends_them(name: str) -> None:
    with LocalCluster.up(name, 1, 2, plugin=False) as cluster:
        shell_topology.submit(cluster.nimbus_address, "numbers")
        # Spouts, bolts, and two JVMs for each of the two workers.
        wait_until(lambda: cluster.status().processes == 3 + 8, 120.0, "all subprocesses run")
        workers = {each.pid for each in processes.of_cluster(cluster.folder, "supervisor-0")}
        cluster.restart("supervisor-0")
        after = {each.pid for each in processes.of_cluster(cluster.folder, "supervisor-0")}
        assert len(workers & after) == 8, "workers ended with their supervisor"
        cluster.kill_supervisor(0, workers=False)
        assert len(processes.of_cluster(cluster.folder, "supervisor-0")) == 8
        with pytest.raises(InvalidInput, match="supervisors 0 to 0"):
            cluster.kill_supervisor(1)
    assert processes.of_cluster(cluster.folder) == []


def test_what_a_crash_left_does_not_block_the_next_start(name: str) -> None:
    crashed = LocalCluster.up(name, 1, 1, plugin=False)
    victims = processes.of_cluster(crashed.folder)
    for victim in victims[1:]:
        victim.kill()
    psutil.wait_procs(victims[1:], timeout=10)
    Layout(name).state_file.write_text('{"version": 1, "daem')
    with pytest.raises(InvalidInput, match="does not run"):
        LocalCluster.open(name)
    said: list[str] = []
    with LocalCluster.up(name, 1, 1, plugin=False, progress=said.append) as cluster:
        assert said[0] == "removed an earlier cluster (1 processes ended)"
        assert not victims[0].is_running() or victims[0].status() == psutil.STATUS_ZOMBIE
        assert cluster.status().processes == 3


def test_a_port_taken_at_the_last_moment_is_replaced(name: str) -> None:
    with socket.socket() as intruder:

        def take_nimbus_port(step: str) -> None:
            state = Layout(name).read_state()
            if step == "ZooKeeper answers" and state and intruder.getsockname()[1] == 0:
                intruder.bind(("", state.nimbus.ports[0]))
                intruder.listen()

        with LocalCluster.up(name, 1, 1, plugin=False, progress=take_nimbus_port) as cluster:
            assert cluster.nimbus_address != f"127.0.0.1:{intruder.getsockname()[1]}"
            assert cluster.status().processes == 3


def test_a_failed_start_ends_everything_and_shows_why(name: str) -> None:
    with pytest.raises(StormcutError, match=r"(?s)^nimbus ended.*nimbus\.log.*no\.such\.Scheduler"):
        LocalCluster.up(name, 1, 1, plugin=False, config={"storm.scheduler": "no.such.Scheduler"})
    folder = Layout(name).folder
    assert processes.of_cluster(folder) == []
    assert Layout(name).log_file("nimbus").is_file()


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.full)]
)
def test_an_interrupted_start_leaves_nothing(name: str, number: signal.Signals) -> None:
    # A test run that nohup or a script put in the background ignores SIGINT, and so would this.
    command = ["env", "--default-signal=INT"]
    command += _cli("up", "--name", name, "--supervisors", "1", "--no-plugin")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as starting:
        folder = Layout(name).folder

        def nimbus_started() -> bool:
            assert starting.poll() is None, starting.communicate()
            return len(processes.of_cluster(folder)) >= 2

        wait_until(nimbus_started, UP_S, "Nimbus has been started")
        starting.send_signal(number)
        # An impatient second signal must not cut the clean-up short.
        starting.send_signal(number)
        _, errors = starting.communicate(timeout=60)
    assert starting.returncode == 130 and "interrupted" in errors
    assert processes.of_cluster(folder) == []
    assert not folder.exists()


def test_one_start_at_a_time_and_a_killed_one_is_no_obstacle(name: str) -> None:
    command = _cli("up", "--name", name, "--supervisors", "1", "--no-plugin")
    folder: Path = Layout(name).folder
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as starting:
        wait_until(lambda: processes.of_cluster(folder), UP_S, "ZooKeeper has been started")
        with pytest.raises(InvalidInput, match="another process is starting or ending it"):
            LocalCluster.up(name, 1, 1, plugin=False)
        starting.kill()
    with LocalCluster.up(name, 1, 1, plugin=False) as cluster:
        assert cluster.status().processes == 3
