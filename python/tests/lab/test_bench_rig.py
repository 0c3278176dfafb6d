"""What a bench reads from nodes and does to processes: settings, reports, counters, holding."""

import ipaddress
import json
import re
import subprocess
import sys
from dataclasses import fields
from unittest.mock import Mock

import psutil
import pytest

from stormcut.adapters.machine.home import checkout
from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.bench import rig
from stormcut.lab.adapters.bench.reports import newest
from stormcut.lab.adapters.bench.setting import names, read_setting
from stormcut.lab.adapters.bench.workers import hold, let_go, processes
from stormcut.lab.adapters.clusters.bandwidth import Bandwidth
from stormcut.lab.adapters.clusters.docker.plan import ClusterShape, plan
from stormcut.lab.adapters.storm.topology_project import check_options
from stormcut.lab.cli.bench import bench as bench_command
from stormcut.lab.experiment.bench.counters import NodeCounters, usage
from stormcut.lab.experiment.bench.plan import Setting
from stormcut.lab.experiment.bench.windows import Sample
from stormcut.model.errors import InvalidInput, StormcutError
from stormcut.model.network import Link

CHILD = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"

#: What every setting has.
FITTING = {"summary": "a", "nodes": "3", "cpus": "1", "topologies": "{linear: {}}"}


def setting(**other):
    """Return a setting's text: what it must have, some of it otherwise."""
    return "".join(f"{key}: {value}\n" for key, value in {**FITTING, **other}.items())


@pytest.mark.parametrize("name", names())
def test_settings_that_come_with_stormcut_can_be_submitted(name):
    setting = read_setting(name)
    for topology, options in setting.topologies.items():
        check_options(topology, {**setting.storm, **options})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nodes: [", "is not valid YAML"),
        ("summary: a\nnodes: 3\ncpus: 1", "topologies: is missing"),
        ("summary: a\nsummary: b", "key summary occurs twice"),
        ("- 1", "must be a mapping of keys"),
        (setting(speed=2), "speed: unknown key"),
        (setting(node=2), "node: unknown key: did you mean nodes?"),
        (setting(room="0.5"), "room: must be 1 or more, not 0.5"),
        (setting(room="wide"), "room: must be a number, not 'wide'"),
        (setting(summary="[a]"), "summary: must be text"),
        (setting(nodes="two"), "nodes: must be a whole number, not 'two'"),
        (setting(nodes="true"), "nodes: must be a whole number, not True"),
        (setting(nodes="2.5"), "nodes: must be a whole number, not 2.5"),
        (setting(nodes="0"), "nodes: must be 1 or more, not 0"),
        (setting(cpus="fast"), "cpus: must be a number, not 'fast'"),
        (setting(cpus="0"), "cpus: must be more than 0, not 0"),
        (setting(cpus=".nan"), "cpus: must be a finite number, not nan"),
        (setting(bandwidth="5"), "bandwidth: must be text, in quotes if need be, not 5"),
        (setting(bandwidth="{up: 5mbit}"), "bandwidth: must be a text such as 20mbit, or "),
        (setting(bandwidth="{out: 5}"), "bandwidth: must be a text such as 20mbit, or "),
        (setting(heterogeneous="[2, 3]"), "heterogeneous: must be text"),
        (setting(storm="[1]"), "storm: must be a mapping of keys to values"),
        (setting(storm="{1: 2}"), "a key must be printable text"),
        (setting(variants="cut"), "variants: must be a list, not 'cut'"),
        (setting(variants="[{cut: a}]"), "variants.0: must be text"),
        (setting(topologies="{}"), "topologies: must have 1 or more"),
        (setting(topologies="[linear]"), "topologies: must be a mapping of keys to values"),
        (
            setting(topologies="{linear: 3}"),
            "topologies.linear: must be a mapping of keys to values, not 3",
        ),
    ],
)
def test_a_bad_setting_is_told_in_one_line(tmp_path, text, words):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=words) as error:
        read_setting(str(path))
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("bandwidth", "text"),
    [
        ("20mbit", "20mbit"),
        ("out=20mbit,in=10mbit", "out=20mbit,in=10mbit"),
        ("{out: 20mbit, in: 10mbit}", "out=20mbit,in=10mbit"),
        ("{in: 10mbit}", "in=10mbit"),
        ("{}", ""),
    ],
)
def test_a_setting_states_a_link_as_the_option_does_or_each_way(tmp_path, bandwidth, text):
    path = tmp_path / "mine.yaml"
    path.write_text(setting(bandwidth=bandwidth))
    assert read_setting(str(path)).bandwidth == text


def test_a_setting_that_is_no_text_is_told_in_one_line(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_bytes(b"summary: \xff")
    with pytest.raises(InvalidInput, match=r"mine\.yaml: is not UTF-8 at byte 9"):
        read_setting(str(path))


def test_an_unknown_setting_names_those_there_are():
    with pytest.raises(InvalidInput, match=r"there are .*network"):
        read_setting("fast")


def report(folder, task, process, acked):
    folder.mkdir(exist_ok=True)
    content = {"sent": acked + 5, "acked": acked, "replayed": 0, "latency": {"3": acked}}
    (folder / f"{task}-{process}.json").write_text(json.dumps(content))


def test_reports_are_those_of_sources_and_of_their_newest_process(tmp_path):
    report(tmp_path / "node-1", "source-7", 50, 900)
    report(tmp_path / "node-1", "sink-8", 50, 1)
    report(tmp_path / "node-2", "source-7", 60, 10)
    report(tmp_path / "node-2", "source-9", 60, 20)
    found = newest([tmp_path / "node-1", tmp_path / "node-2", tmp_path / "node-3"], {"source"})
    assert {task: sample.acked for task, sample in found.items()} == {
        "source-7": 10,
        "source-9": 20,
    }
    assert found["source-9"].latency == {3: 20}


def test_usage_is_the_mean_between_two_readings():
    before = NodeCounters(
        100.0, (1_000_000, 0), (500_000, 0), (5.0, 1.0), 50.0, periods=(10, 0), throttled=(4, 0)
    )
    after = NodeCounters(
        110.0,
        (2_000_000, 250_000),
        (750_000, 1_000_000),
        (8.0, 2.0),
        60.0,
        periods=(110, 0),
        throttled=(29, 0),
    )
    found = usage(before, after)
    assert found.sent_mbit_s == pytest.approx(1.0)
    assert found.node_sent_mbit_s == pytest.approx((0.8, 0.2))
    assert found.node_received_mbit_s == pytest.approx((0.2, 0.8))
    assert found.node_cores == pytest.approx((0.3, 0.1))
    assert found.other_cores == pytest.approx(0.6)
    # A node without a quota has no periods.
    assert found.node_throttled == pytest.approx((0.25, 0.0))


def test_nodes_are_known_to_a_contest_by_size_cpu_and_link(monkeypatch):
    shape = ClusterShape(2, 0.5, Bandwidth(5_000_000, None), sizes=(3, 1))
    planned = plan("x", shape, ipaddress.IPv4Network("10.99.0.0/24"))
    monkeypatch.setattr(rig, "docker_site", Mock())
    nodes = rig.ClusterRig(Mock(plan=planned, refused={})).nodes
    assert list(nodes) == [node.name for node in planned.nodes]
    assert [host.address for host in nodes.values()] == [each.address for each in planned.nodes]
    assert [host.size for host in nodes.values()] == [3, 1]
    assert [host.cpu_percent for host in nodes.values()] == pytest.approx([75, 25])
    assert {host.link for host in nodes.values()} == {Link(5.0, None)}


@pytest.mark.parametrize(
    ("rates", "slices"), [((100, 200, 205, 900), 3), ((100, 90, 900), 2), ((0, 0, 50, 51), 4)]
)
def test_a_copy_is_warm_once_its_rate_stops_growing(monkeypatch, rates, slices):
    monkeypatch.setattr(rig, "docker_site", Mock())
    found, pauses, counts = rig.ClusterRig(Mock(refused={})), [], [0]
    for rate in rates:
        counts.append(counts[-1] + 5 * rate)

    def samples(_):
        return {"s-1": Sample(5.0 * len(pauses), 0, counts[len(pauses)], 0, {})}

    monkeypatch.setattr(found, "samples", samples)
    monkeypatch.setattr(rig, "time", Mock(monotonic=lambda: 5.0 * len(pauses), sleep=pauses.append))
    found._warm_up(Mock())
    assert len(pauses) == slices


def test_limits_refused_in_other_words_are_the_same_and_others_are_not(monkeypatch):
    cluster = Mock(refused={"cpu": "node-1: process 17: permission denied"})
    monkeypatch.setattr(rig, "docker_site", Mock())
    found = rig.ClusterRig(cluster)
    cluster.refused = {"cpu": "node-1: process 99: permission denied"}
    for lifted in (True, False, True):
        found._lift(lifted)
    cluster.refused = {"bandwidth": "node-1: tc says: operation not permitted"}
    with pytest.raises(StormcutError, match="other limits are refused than at the start: bandw"):
        found._lift(False)


@pytest.mark.slow
def test_a_topology_is_held_with_all_its_processes_and_let_go():
    mark = "bench-test-1-1700000000"
    # Not an option of Python: what stands after the program is the program's own.
    command = [sys.executable, "-c", CHILD, f"-Dstorm.id={mark}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        try:
            wait_until(lambda: len(list(processes(mark))) == 2, 20, "both processes run")
            family = list(processes(mark))

            def stopped() -> int:
                return sum(each.status() == psutil.STATUS_STOPPED for each in family)

            hold(mark)
            wait_until(lambda: stopped() == len(family), 20, "all are stopped")
            let_go(mark)
            wait_until(lambda: not stopped(), 20, "none is stopped")
            assert list(processes("bench-test-1-17000000")) == []
        finally:
            let_go(mark)
            for each in psutil.Process(process.pid).children():
                each.kill()
            process.kill()


def test_the_page_and_the_help_have_every_key_of_a_setting():
    keys = {each.name for each in fields(Setting)} - {"name"}
    page = (checkout() / "docs" / "bench.md").read_text()
    told = {row.split("`")[1] for row in page.splitlines() if row.startswith("| `")}
    assert keys <= told
    assert keys <= set(re.findall(r"\w+", bench_command.help))
