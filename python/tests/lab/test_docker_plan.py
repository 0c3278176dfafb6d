import ipaddress
import os
import signal
import subprocess
from pathlib import Path
from typing import ClassVar

import psutil
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.bandwidth import Bandwidth, parse_bandwidth
from stormcut.lab.adapters.clusters.docker.compose import compose_file
from stormcut.lab.adapters.clusters.docker.engine import engine
from stormcut.lab.adapters.clusters.docker.folder import DockerState, Folder
from stormcut.lab.adapters.clusters.docker.image import docker_folder
from stormcut.lab.adapters.clusters.docker.plan import (
    ClusterPlan,
    ClusterShape,
    free_subnet,
    parse_sizes,
    plan,
    storm_yaml,
)
from stormcut.lab.adapters.clusters.docker.startup import pids
from stormcut.model.errors import InvalidInput

LINK = Bandwidth(20_000_000, 10_000_000)
SUBNET = ipaddress.IPv4Network("10.213.7.0/24")


def planned(shape: ClusterShape) -> ClusterPlan:
    return plan("x", shape, SUBNET)


@pytest.mark.parametrize("text", ["", "3x", "x3", "3*6", "0x4", "3x0", "3x6,", "-1x4", "3x1.5"])
def test_sizes_of_another_form_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="3x6,3x4,4x2"):
        parse_sizes(text)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.floats(0.2, 4))
def test_heterogeneous_nodes_share_the_same_cores(sizes: list[int], cpus: float) -> None:
    shape = ClusterShape(len(sizes), cpus, sizes=tuple(sizes))
    shares = [limits.cpus or 0.0 for limits in shape.limits]
    assert sum(shares) == pytest.approx(cpus * len(sizes))
    assert shares == pytest.approx([shares[0] / sizes[0] * size for size in sizes])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"nodes": 0}, "nodes"),
        ({"nodes": 3, "slots": 0}, "slots"),
        ({"nodes": 3, "memory_mb": 100}, "memory"),
        ({"nodes": 3, "cpus": 0.001}, "cpus"),
        ({"nodes": 2, "cpus": 0.1, "sizes": (1, 99)}, "cpus"),
        ({"nodes": 3, "sizes": (4, 4)}, "heterogeneous"),
    ],
)
def test_a_shape_that_no_cluster_can_have_is_refused(
    arguments: dict[str, object], words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        ClusterShape(**arguments)


def test_every_container_has_its_own_address_in_the_network() -> None:
    for nodes in (1, 200):
        cluster = planned(ClusterShape(nodes))
        addresses = {ipaddress.ip_address(each.address) for each in cluster.containers}
        assert len(addresses) == nodes + 2
        assert all(address in SUBNET for address in addresses)
        assert cluster.gateway not in map(str, addresses)


def test_a_node_declares_what_it_may_use_and_the_user_has_the_last_word() -> None:
    cluster = planned(ClusterShape(2, cpus=0.5, memory_mb=768, sizes=(3, 1), slots=3))
    large = storm_yaml(cluster, cluster.nodes[0], {"nimbus.seeds": ["nimbus"]}, {})
    assert large == {
        "nimbus.seeds": ["nimbus"],
        "storm.local.hostname": "10.213.7.11",
        "supervisor.slots.ports": [6700, 6701, 6702],
        "supervisor.cpu.capacity": 75.0,
        "supervisor.memory.capacity.mb": 768.0,
    }
    chosen = {"supervisor.cpu.capacity": 400}
    assert storm_yaml(cluster, cluster.nodes[1], {}, chosen).items() >= chosen.items()
    free = planned(ClusterShape(1, memory_mb=None))
    assert "capacity" not in str(storm_yaml(free, free.nodes[0], {}, {}))


@pytest.mark.parametrize(
    ("bandwidth", "stated"),
    [("50mbit", "50"), ("out=50mbit,in=2.5mbit", "out=50,in=2.5"), ("in=500kbit", "in=0.5")],
)
def test_a_node_states_its_link_each_way_as_text(bandwidth: str, stated: str) -> None:
    cluster = planned(ClusterShape(1, bandwidth=parse_bandwidth(bandwidth)))
    # Storm takes texts alone there.
    config = yaml.safe_load(yaml.safe_dump(storm_yaml(cluster, cluster.nodes[0], {}, {})))
    assert config["supervisor.scheduler.meta"] == {"stormcut.link.mbit": stated}
    nimbus = storm_yaml(cluster, cluster.containers[1], {}, {})
    assert "supervisor.scheduler.meta" not in nimbus
    free = planned(ClusterShape(1))
    assert "supervisor.scheduler.meta" not in storm_yaml(free, free.nodes[0], {}, {})


def test_only_nodes_are_limited() -> None:
    cluster = planned(ClusterShape(2, cpus=0.5, bandwidth=LINK))
    for container in cluster.containers:
        assert (container.limits.cpus is not None) == container.is_node
        assert bool(container.environment) == container.is_node


@pytest.mark.parametrize(
    ("link", "variables"),
    [
        (LINK, {"STORMCUT_TBF": "rate 20000000bit ", "STORMCUT_TBF_IN": "rate 10000000bit "}),
        (Bandwidth(10**7, None), {"STORMCUT_TBF": "rate 10000000bit "}),
        (Bandwidth(None, 10**7), {"STORMCUT_TBF_IN": "rate 10000000bit "}),
        (Bandwidth(), {}),
    ],
)
def test_each_way_is_limited_on_its_own(link: Bandwidth, variables: dict[str, str]) -> None:
    found = planned(ClusterShape(1, bandwidth=link)).nodes[0].environment
    assert found.keys() == variables.keys()
    assert all(found[name].startswith(rate) for name, rate in variables.items())


def test_without_an_engine_one_line_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    with pytest.raises(InvalidInput, match="Docker engine: does not answer") as caught, engine():
        pass
    assert "\n" not in str(caught.value)


def test_a_subnet_that_others_use_is_not_taken() -> None:
    taken = [ipaddress.IPv4Network(text) for text in ("10.213.0.0/23", "10.213.2.128/25")]
    assert str(free_subnet(taken)) == "10.213.3.0/24"
    with pytest.raises(InvalidInput):
        free_subnet([ipaddress.IPv4Network("10.0.0.0/8")])


def test_the_state_reads_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORMCUT_HOME", str(tmp_path))
    folder = Folder("x")
    assert folder.read_state() is None
    state = DockerState(
        planned(ClusterShape(3, 0.3, LINK, 512, (1, 2, 3), 4)), {"cpu": "no permission"}
    )
    folder.path.mkdir(parents=True)
    folder.write_state(state)
    assert folder.read_state() == state
    (folder.path / "state.json").write_text("{")
    assert folder.read_state() is None


def test_a_removed_folder_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORMCUT_HOME", str(tmp_path))
    first, second = Folder("first"), Folder("second")
    for folder in (first, second):
        folder.create_storm_home(planned(ClusterShape(1)).nodes[0], {})
    first.remove()
    assert second.path.is_dir()
    second.remove()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "A", "../x", "a b", "x" * 42])
def test_a_name_that_no_container_can_have_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="cluster name"):
        Folder(name)


def test_the_compose_file_has_the_same_containers_and_limits() -> None:
    services = yaml.safe_load(compose_file(ClusterShape(2, 0.3, LINK, 512, (2, 1))))["services"]
    assert list(services) == ["zookeeper", "nimbus", "node-1", "node-2"]
    assert [services[name].get("cpu_quota") for name in services] == [None, None, 40000, 20000]
    assert services["node-1"]["mem_limit"] == services["node-1"]["memswap_limit"] == "512m"
    assert services["node-1"]["cap_add"] == ["NET_ADMIN"]
    assert services["node-1"]["environment"]["STORMCUT_TBF"].startswith("rate 20000000bit ")
    assert services["node-1"]["environment"]["STORMCUT_TBF_IN"].startswith("rate 10000000bit ")
    free = yaml.safe_load(compose_file(ClusterShape(1, memory_mb=None)))["services"]["node-1"]
    assert not {"cpu_quota", "mem_limit", "cap_add"} & set(free)


def test_the_compose_file_in_the_tree_is_the_printed_one() -> None:
    text = (docker_folder() / "compose.yaml").read_text(encoding="utf-8")
    assert text == compose_file(ClusterShape(3, 0.3, parse_bandwidth("20mbit")))


def test_a_containers_processes_are_all_that_its_first_one_started() -> None:
    class Here:
        attrs: ClassVar = {"State": {"Pid": os.getpid()}}

    class Ended:
        attrs: ClassVar = {"State": {"Pid": 0}}

    assert pids([Ended()]) == []
    with subprocess.Popen(["sh", "-c", "sleep 60 & wait"], start_new_session=True) as shell:
        try:
            (sleeper,) = wait_until(psutil.Process(shell.pid).children, 10, "it has a child")
            assert {os.getpid(), shell.pid, sleeper.pid} <= set(pids([Ended(), Here()]))
            assert 1 not in pids([Ended(), Here()])
        finally:
            os.killpg(shell.pid, signal.SIGKILL)
