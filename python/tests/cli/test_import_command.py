"""`stormcut import storm`: what Nimbus stores of topologies becomes a problem."""

import gzip
import json
import shutil
import sys
from pathlib import Path

import pytest
from streamparse.thrift import storm_thrift as thrift
from thriftpy2.utils import serialize

from stormcut.adapters.files.problem_file import read_problem
from stormcut.cli.main import main

REAL = Path(__file__).parents[1] / "data" / "storm-topology"
CODE, CONF = (REAL / f"TopologyName00023-storm{half}.ser" for half in ("code", "conf"))
SUPERVISORS = {
    "supervisors": [
        {"rack": "a", "count": 2, "cpu_pcore_percent": 400, "memory_mb": 8192.0, "slots": 4},
        {"rack": "b", "count": 1, "cpu_pcore_percent": None, "memory_mb": None, "slots": 2},
        {"rack": "a", "count": 1, "cpu_pcore_percent": 100, "memory_mb": 1024, "slots": 1},
    ]
}


@pytest.fixture
def import_storm(monkeypatch, capsys, tmp_path):
    """Return a function that runs the command and returns (exit code, stderr, problem's path)."""
    supervisors = tmp_path / "supervisors.json"
    supervisors.write_text(json.dumps(SUPERVISORS))
    output = tmp_path / "problem.json"

    def run(*paths, supervisors=supervisors):
        arguments = [*paths, "--supervisors", supervisors, "--output", output]
        monkeypatch.setattr(sys, "argv", ["stormcut", "import", "storm", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            main()
        return caught.value.code or 0, capsys.readouterr().err, output

    return run


def common(inputs=(), hint=None, **conf):
    """Return a component's common part; ``inputs`` are (component, stream, grouping)."""
    streams = {thrift.GlobalStreamId(c, s): thrift.Grouping(**g) for c, s, g in inputs}
    return thrift.ComponentCommon(
        inputs=streams, streams={}, parallelism_hint=hint, json_conf=json.dumps(conf)
    )


def stored(folder, name, spouts, bolts, conf, pack=bytes):
    """Write the two files of a topology as Nimbus does; return their paths."""
    java = thrift.ComponentObject(serialized_java=b"opaque")
    struct = thrift.StormTopology(
        spouts={key: thrift.SpoutSpec(java, value) for key, value in spouts.items()},
        bolts={key: thrift.Bolt(java, value) for key, value in bolts.items()},
        state_spouts={},
    )
    code, settings = folder / f"{name}-stormcode.ser", folder / f"{name}-stormconf.ser"
    code.write_bytes(pack(serialize(struct)))
    settings.write_bytes(pack(json.dumps(conf).encode()))
    return code, settings


def words(folder, name="words", pack=bytes, conf=None):
    """A small topology with a stream of every grouping."""
    null = thrift.NullStruct()
    groupings = {
        "a": {"fields": ["word"]},
        "b": {"fields": []},
        "c": {"shuffle": null},
        "d": {"local_or_shuffle": null},
        "e": {"all": null},
        "f": {"none": null},
        "g": {"direct": null},
        "h": {"custom_serialized": b"opaque"},
    }
    inputs = [("spout", stream, grouping) for stream, grouping in groupings.items()]
    return stored(
        folder,
        name,
        {"spout": common(hint=4, **{"topology.tasks": 3})},
        {"count": common(inputs, hint=2, **{"topology.component.cpu.pcore.percent": 25.0})},
        {"topology.name": name, "topology.workers": 5} if conf is None else conf,
        pack,
    )


def test_a_real_topology(import_storm):
    code, err, output = import_storm(CODE, CONF)
    assert code == 0
    assert "topologies 1, components 3, executors 3, nodes 4" in err
    (topology,) = read_problem(output).topologies
    assert topology.id == "TopologyName00023"
    assert topology.workers is None
    loads = {c.name: (c.kind, c.cpu_percent[0], c.memory_mb[0]) for c in topology.components}
    # On-heap and off-heap memory of topology.component.resources.map together.
    assert loads == {
        "Spout-0": ("spout", 60.0, 128.0),
        "Bolt-0": ("bolt", 60.0, 1152.0),
        "Bolt-1": ("bolt", 30.0, 160.0),
    }
    streams = [(s.source, s.target, s.stream, s.grouping) for s in topology.streams]
    assert streams == [
        ("Spout-0", "Bolt-0", "default", "shuffle"),
        ("Bolt-0", "Bolt-1", "HBaseSinkStream", "shuffle"),
    ]


def test_rates_and_workers_on_request(import_storm):
    _, _, output = import_storm(CODE, CONF, "--rate", 50, "--keep-workers")
    (topology,) = read_problem(output).topologies
    assert topology.workers == 10
    assert [stream.tuples_per_second for stream in topology.streams] == [50.0, 50.0]


def test_a_folder_is_searched(import_storm, tmp_path):
    for name in ("one", "two"):
        folder = tmp_path / "stormdist" / name
        folder.mkdir(parents=True)
        words(folder, name, gzip.compress)
    code, _, output = import_storm(tmp_path / "stormdist")
    assert code == 0
    assert [topology.id for topology in read_problem(output).topologies] == ["one", "two"]


def as_blobs(folder, name):
    """Lay a topology out as Nimbus's LocalFsBlobStore does: each blob in a folder by its hash."""
    for number, file in enumerate(words(folder, name, gzip.compress)):
        for kind in ("data", "meta"):
            blob = folder / "blobs" / str(851 - number * 585) / f"{kind}_{file.name}"
            blob.mkdir(parents=True)
            (blob / "data").write_bytes(file.read_bytes() if kind == "data" else b"\x0f\x00")
        file.unlink()


def test_nimbus_blobs_are_found_and_supervisors_copies_count_once(import_storm, tmp_path):
    nimbus = tmp_path / "nimbus"
    nimbus.mkdir()
    for name in ("one-1-17", "[x]-2-17"):
        as_blobs(nimbus, name)
    copy = tmp_path / "supervisor" / "stormdist" / "one-1-17"
    copy.mkdir(parents=True)
    for half in words(copy, "one-1-17", gzip.compress):
        half.rename(copy / half.name.removeprefix("one-1-17-"))
    code, err, output = import_storm(tmp_path)
    assert code == 0, err
    assert {each.id for each in read_problem(output).topologies} == {"one-1-17", "[x]-2-17"}


def test_half_a_blob_names_the_other(import_storm, tmp_path):
    as_blobs(tmp_path, "one-1-17")
    shutil.rmtree(tmp_path / "blobs" / "266")
    code, err, output = import_storm(tmp_path)
    assert code == 2
    assert f"{tmp_path}/blobs/*/data_one-1-17-stormconf.ser/data: is missing" in err
    assert "give a folder that holds both" in err
    assert not output.exists()


def test_a_folder_without_topologies_says_what_to_give(import_storm, tmp_path):
    code, err, _ = import_storm(tmp_path)
    assert code == 2
    assert "holds neither a *stormcode.ser" in err and "storm.local.dir" in err
    code, err, _ = import_storm(tmp_path / "nowhere")
    assert code == 2
    assert "nowhere: no such file or folder" in err


def test_hints_tasks_loads_and_groupings(import_storm, tmp_path):
    code, _, output = import_storm(*words(tmp_path))
    assert code == 0
    (topology,) = read_problem(output).topologies
    parts = {component.name: component for component in topology.components}
    # A hint of 4 for 3 tasks; Storm's default memory.
    assert parts["spout"].executors == 3
    assert (parts["count"].cpu_percent[0], parts["count"].memory_mb[0]) == (25.0, 128.0)
    assert {stream.stream: stream.grouping for stream in topology.streams} == {
        "a": "fields",
        "b": "global",
        "c": "shuffle",
        "d": "local_or_shuffle",
        "e": "all",
        "f": "none",
        "g": "direct",
        "h": "custom",
    }
    assert {stream.tuples_per_second for stream in topology.streams} == {3.0}


def test_one_topology_that_cannot_be_read_costs_no_other(import_storm, tmp_path):
    for name in ("good-1-17", "empty-2-17", "hint-3-17", "cut-4-17"):
        (tmp_path / name).mkdir()
    words(tmp_path / "good-1-17", "good-1-17")
    stored(tmp_path / "empty-2-17", "empty-2-17", {}, {}, {"topology.name": "empty"})
    stored(tmp_path / "hint-3-17", "hint-3-17", {"s": common(hint=-3)}, {}, {})
    code, _ = words(tmp_path / "cut-4-17", "cut-4-17")
    code.write_bytes(code.read_bytes()[:-9])
    exit_code, err, output = import_storm(tmp_path)
    assert exit_code == 0, err
    assert [topology.id for topology in read_problem(output).topologies] == ["good-1-17"]
    for name, why in (
        ("empty-2-17", "without components"),
        ("hint-3-17", "must be from 1 to"),
        ("cut-4-17", "is no serialised Storm topology"),
    ):
        assert f"note: left out {name}: " in err and why in err


def test_of_two_incarnations_of_a_name_the_later_counts(import_storm, tmp_path):
    for name, workers in (("wc-1-1600000000", 2), ("wc-2-1700000000", 3)):
        (tmp_path / name).mkdir()
        words(tmp_path / name, name, conf={"topology.name": "wc", "topology.workers": workers})
    exit_code, err, output = import_storm(tmp_path, "--keep-workers")
    assert exit_code == 0
    assert [t.workers for t in read_problem(output).topologies] == [3]
    assert "left out wc-1-1600000000: wc was submitted again later, as wc-2-1700000000" in err


def test_a_blank_in_a_name_is_a_plus_in_a_supervisor_s_folder(import_storm, tmp_path):
    as_blobs(tmp_path, "my wc-1-17")
    copy = tmp_path / "stormdist" / "my+wc-1-17"
    copy.mkdir(parents=True)
    for half in words(copy, "my wc-1-17", gzip.compress):
        half.rename(copy / half.name.removeprefix("my wc-1-17-"))
    exit_code, err, output = import_storm(tmp_path)
    assert exit_code == 0
    assert [topology.id for topology in read_problem(output).topologies] == ["my wc-1-17"]
    assert "left out" not in err


def test_names_of_storm_2_texts_and_the_highest_parallelism_count(import_storm, tmp_path):
    resources = {"cpu.pcore.percent": 30.0, "onheap.memory.mb": 100.0, "offheap.memory.mb": 28.0}
    of_2 = common(hint=9, **{"topology.component.resources.map": resources})
    of_1 = common(hint=2, **{"topology.component.cpu.pcore.percent": "45.5"})
    conf = {"topology.max.task.parallelism": 4}
    _, _, output = import_storm(*stored(tmp_path, "t", {"s": of_2}, {"b": of_1}, conf))
    (topology,) = read_problem(output).topologies
    loads = {c.name: (c.executors, c.cpu_percent[0], c.memory_mb[0]) for c in topology.components}
    assert loads == {"s": (4, 30.0, 128.0), "b": (2, 45.5, 128.0)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        # Counts of elements that take no bytes: a decoder that believes them never ends.
        lambda: b"\x0d\x00\x01\x0b\x0c\x7f\xff\xff\xff",
        lambda: b"\x0f\x00\x63\x00\x7f\xff\xff\xff\x00",
        lambda: gzip.compress(b"0" * ((256 << 20) + 1), mtime=0),
    ],
    ids=["list", "field that nobody knows", "gzip"],
)
def test_bytes_that_would_take_for_ever_are_refused(import_storm, tmp_path, content):
    code, conf = words(tmp_path)
    code.write_bytes(content())
    exit_code, err, _ = import_storm(code, conf)
    assert (exit_code, err.count("\n")) == (2, 1)


@pytest.mark.parametrize(("points", "threads"), [(100.0, 1.0), (150.0, 2.0), (400.0, 4.0)])
def test_points_above_a_core_are_those_of_threads(import_storm, tmp_path, points, threads):
    pool = common(hint=2, **{"topology.component.cpu.pcore.percent": points})
    _, _, output = import_storm(*stored(tmp_path, "t", {"pool": pool}, {}, {}))
    (topology,) = read_problem(output).topologies
    assert topology.components[0].threads == threads


def test_supervisors_are_numbered_through_their_rack(import_storm):
    _, _, output = import_storm(CODE, CONF)
    nodes = [
        (n.id, n.rack, n.ports, n.cpu_percent, n.memory_mb) for n in read_problem(output).nodes
    ]
    assert nodes == [
        ("as000", "a", (0, 1, 2, 3), 400.0, 8192.0),
        ("as001", "a", (0, 1, 2, 3), 400.0, 8192.0),
        ("bs000", "b", (0, 1), None, None),
        ("as002", "a", (0,), 100.0, 1024.0),
    ]


def damaged(path, change):
    """Return a copy of a file with its unpacked content changed, beside the problem."""
    copy = path.with_name("damaged.ser")
    copy.write_bytes(change(path.read_bytes()))
    return copy


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda content: b"", "is no serialised Storm topology"),
        (lambda content: b"\x00", "is no serialised Storm topology"),
        (lambda content: b"hello world", "is no serialised Storm topology"),
        (lambda content: content[:-7], "is no serialised Storm topology"),
        (lambda content: content + b"x", "is no serialised Storm topology"),
        (lambda content: gzip.compress(content)[:-9], "is damaged gzip"),
        (lambda content: gzip.compress(content)[:12] + b"zzz", "is damaged gzip"),
    ],
)
def test_a_broken_topology_is_one_line(import_storm, tmp_path, change, complaint):
    code, conf = words(tmp_path)
    broken = damaged(code, change)
    exit_code, err, output = import_storm(broken, conf)
    assert exit_code == 2
    assert str(broken) in err
    assert complaint in err
    assert err.count("\n") == 1
    assert not output.exists()


def test_every_cut_of_a_topology_is_refused(import_storm, tmp_path):
    code, conf = words(tmp_path)
    content = code.read_bytes()
    for size in range(0, len(content), 23):
        code.write_bytes(content[:size])
        exit_code, err, _ = import_storm(code, conf)
        assert (exit_code, err.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("conf", "complaint"),
    [
        (b"", "is not JSON"),
        (b"[1]", "must be the JSON object of a topology's configuration"),
        (b'{"topology.component.resources.onheap.memory.mb": "much"}', "at least 0"),
        (b"\xff", "is not UTF-8"),
    ],
)
def test_a_broken_configuration_is_one_line(import_storm, tmp_path, conf, complaint):
    code, path = words(tmp_path)
    path.write_bytes(conf)
    exit_code, err, _ = import_storm(code, path)
    assert exit_code == 2
    assert complaint in err
    assert err.count("\n") == 1


def test_what_does_not_go_together_is_refused(import_storm, tmp_path):
    code, conf = words(tmp_path)
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(code, alone)
    empty = tmp_path / "empty"
    empty.mkdir()
    lost = {"count": common([("nowhere", "s", {"shuffle": thrift.NullStruct()})], hint=1)}
    orphan = stored(empty, "x", {"spout": common(hint=1)}, lost, {})
    for paths, complaint in (
        ([code], "has no configuration after it"),
        ([code, tmp_path / "none.ser"], "none.ser: no such file or folder"),
        ([alone], "words-stormconf.ser: is missing, the other half of"),
        ([code, conf, code, conf], "a topology 'words' was there before"),
        ([conf, code], "is no serialised Storm topology"),
        (orphan, "count subscribes to 'nowhere', which is no component"),
    ):
        exit_code, err, _ = import_storm(*paths)
        assert (exit_code, err.count("\n")) == (2, 1), err
        assert complaint in err


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({}, 'missing key "supervisors"'),
        ({"supervisors": [{"rack": "a"}]}, "supervisors[0]: missing key"),
        ({"supervisors": [], "more": 1}, "more: unknown key"),
    ],
)
def test_a_broken_table_of_supervisors_is_one_line(import_storm, tmp_path, table, complaint):
    path = tmp_path / "table.json"
    path.write_text(json.dumps(table))
    exit_code, err, _ = import_storm(CODE, CONF, supervisors=path)
    assert (exit_code, err.count("\n")) == (2, 1)
    assert complaint in err
