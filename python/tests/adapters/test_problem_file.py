import copy
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problem_strategies import problems, with_resources

from stormcut.adapters.files.problem_file import read_problem, write_problem
from stormcut.model.errors import InvalidInput
from stormcut.model.operator import read_operator
from stormcut.placement.graph.weighing import is_measured

GOLDEN = Path(__file__).parents[1] / "golden"
EXAMPLE = json.loads((GOLDEN / "measured-word-count" / "problem.json").read_text())
TOPOLOGY = "topologies[0]"


def write(folder, document):
    path = folder / "problem.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def complaint(path):
    with pytest.raises(InvalidInput) as caught:
        read_problem(path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(path))
    return message


def put(document, place, value):
    """Return a copy of a document with the member at a place replaced, or removed by ``...``."""
    document = copy.deepcopy(document)
    *way, last = place
    target = document
    for key in way:
        target = target[key]
    if value is ...:
        del target[last]
    else:
        target[last] = value
    return document


def as_values(problem):
    return [
        problem.nodes,
        [
            (t.id, t.workers, t.streams, t.measured, t.max_spout_pending, t.streams_measured)
            for t in problem.topologies
        ],
        [
            (c.name, c.kind, c.executors, c.cpu_us_per_tuple, c.threads, c.service)
            for t in problem.topologies
            for c in t.components
        ],
        [(c.arrivals, c.operator, c.buffer) for t in problem.topologies for c in t.components],
        [(t.loss, t.resend_ms) for t in problem.topologies],
        (problem.uplinks, problem.costs, problem.hop),
        problem.executor_cpu.tolist(),
        problem.executor_memory.tolist(),
        [problem.slot_ids[s] if s >= 0 else None for s in problem.current_slots()],
        problem.current is None,
    ]


@given(problem=st.one_of(problems(), problems().flatmap(with_resources)))
def test_what_is_written_is_read_again(problem, tmp_path_factory):
    path = tmp_path_factory.mktemp("problem") / "problem.json"
    write_problem(path, problem)
    assert as_values(read_problem(path)) == as_values(problem)
    assert [each.name for each in path.parent.iterdir()] == ["problem.json"]


sizes = st.lists(st.one_of(st.none(), st.floats(0, 1e6)), min_size=4, max_size=4)


@given(problems().filter(lambda problem: any(t.measured for t in problem.topologies)), sizes)
def test_measured_sizes_of_tuples_are_read_again(tmp_path_factory, problem, sizes):
    topologies = tuple(
        replace(
            topology,
            measured=tuple(
                pair._replace(bytes_per_tuple=size)
                for pair, size in zip(topology.measured, sizes, strict=False)
            ),
        )
        for topology in problem.topologies
    )
    problem = replace(problem, topologies=topologies)
    path = tmp_path_factory.mktemp("problem") / "problem.json"
    write_problem(path, problem)
    assert as_values(read_problem(path)) == as_values(problem)
    assert is_measured(read_problem(path)) == is_measured(problem)


def test_what_may_be_left_out(tmp_path):
    document = put(EXAMPLE, ["topologies", 0, "components", 0, "cpu_percent"], ...)
    document = put(document, ["topologies", 0, "components", 0, "memory_mb"], ...)
    document = put(document, ["topologies", 0, "traffic"], ...)
    document = put(document, ["current"], ...)
    document["nodes"] = [{"id": "n00", "ports": [6700]}]
    problem = read_problem(write(tmp_path, document))
    assert problem.executor_cpu[:2].tolist() == [10.0, 10.0]
    assert problem.executor_memory[:2].tolist() == [128.0, 128.0]
    assert problem.nodes[0].max_executors is None
    assert problem.current is None


def test_slots_that_no_node_offers_are_lost_slots(tmp_path):
    document = put(EXAMPLE, ["current", "wordcount-1", "words", 0], "old:6700")
    problem = read_problem(write(tmp_path, document))
    assert problem.lost_slots == (("old", 6700),)
    assert problem.current_slots()[0] == problem.slot_count


COMPONENT = ["topologies", 0, "components", 1]
STREAM = ["topologies", 0, "streams", 0]
OF_A_BOLT = [
    {
        "source": "count",
        "target": "count",
        "stream": "again",
        "grouping": "shuffle",
        "tuples_per_second": 1,
        "shares": [1, 0, 0],
    }
]
WRONG = [
    (["format"], "stormcut-problem/2", "format"),
    (["format"], ..., "format"),
    (["nodes"], ..., "nodes"),
    (["nodes"], {}, "nodes"),
    (["colour"], 1, "colour"),
    (["nodes", 0, "colour"], 1, "nodes[0].colour"),
    (["nodes", 0, "id"], "", "nodes[0].id"),
    (["nodes", 0, "id"], "a\nb", "nodes[0].id"),
    (["nodes", 0, "id"], 7, "nodes[0].id"),
    (["nodes", 1, "id"], "n00", '"n00" occurs twice'),
    (["nodes", 0, "ports"], [6700, 6700], "6700 occurs twice"),
    (["nodes", 0, "ports", 0], 6700.0, "nodes[0].ports[0]"),
    (["nodes", 0, "ports", 0], True, "nodes[0].ports[0]"),
    (["nodes", 0, "ports", 0], -1, "nodes[0].ports[0]"),
    (["nodes", 0, "ports", 0], 70000, "nodes[0].ports[0]"),
    (["nodes", 0, "cpu_percent"], -1, "nodes[0].cpu_percent"),
    (["nodes", 0, "cpu_percent"], "4", "nodes[0].cpu_percent"),
    (["nodes", 0, "cpu_percent"], False, "nodes[0].cpu_percent"),
    (["nodes", 0, "max_executors"], 1.5, "nodes[0].max_executors"),
    (["topologies", 0], [], TOPOLOGY),
    (["topologies", 0, "workers"], 0, f"{TOPOLOGY}.workers"),
    (["topologies", 0, "workers"], ..., "workers"),
    ([*COMPONENT, "name"], "words", '"words" occurs twice'),
    ([*COMPONENT, "kind"], "sink", "components[1].kind"),
    ([*COMPONENT, "executors"], 0, "components[1].executors"),
    ([*COMPONENT, "executors"], 2, "components[1].cpu_percent"),
    ([*COMPONENT, "executors"], 10**30, "components[1].executors"),
    ([*COMPONENT, "memory_mb"], None, "components[1].memory_mb"),
    ([*COMPONENT, "operator"], {"kind": "sort"}, "components[1].operator"),
    ([*COMPONENT, "operator"], {"kind": "filter", "share": 1}, "share"),
    ([*COMPONENT, "operator"], {"kind": "filter", "predicate": {"like": 1}}, "is not a predicate"),
    ([*COMPONENT, "operator"], 3, "components[1].operator"),
    (["topologies", 0, "streams_measured"], 1, "streams_measured"),
    (["topologies", 0, "loss"], 1, "below 1"),
    (["topologies", 0, "resend_ms"], -1, "resend_ms"),
    ([*COMPONENT, "buffer"], 0, "buffer"),
    (["topologies", 0, "components", 0, "buffer"], 4, "for bolts only"),
    (["hop_us"], {"node": -1}, "hop_us.node"),
    (["hop_us"], {"far": 1}, "hop_us.far"),
    ([*COMPONENT, "cpu_percent", 1], None, "components[1].cpu_percent[1]"),
    ([*STREAM, "source"], "nobody", "streams[0].source"),
    ([*STREAM, "target"], ["count"], "streams[0].target"),
    ([*STREAM, "grouping"], "random", "streams[0].grouping"),
    ([*STREAM, "tuples_per_second"], None, "streams[0].tuples_per_second"),
    ([*STREAM, "tuples_per_second"], ..., "tuples_per_second"),
    ([*STREAM, "bytes_per_tuple"], -4, "streams[0].bytes_per_tuple"),
    ([*STREAM, "shares"], 1, "streams[0].shares: must be a list"),
    ([*STREAM, "shares"], [1], "streams[0].shares: 1 numbers for 2 executors"),
    ([*STREAM, "shares"], [0.5, 0.6], "streams[0].shares: add up to 1.1, not to 1"),
    ([*STREAM, "shares"], [1.5, -0.5], "streams[0].shares[1]"),
    (["topologies", 0, "streams"], OF_A_BOLT, "streams[0].shares: are for streams of spouts"),
    (["topologies", 0, "traffic", 0, 0], "words[2]", "traffic[0][0]"),
    (["topologies", 0, "traffic", 0, 1], "count", "traffic[0][1]"),
    (["topologies", 0, "traffic", 0, 2], "9", "traffic[0][2]"),
    (["topologies", 0, "traffic", 0, 2], True, "traffic[0][2]"),
    (["topologies", 0, "traffic", 0], ["words[0]"], "traffic[0]"),
    (["topologies", 0, "traffic", 0], ["words[0]", "count[1]", 1, -1], "traffic[0][3]"),
    (["topologies", 0, "traffic", 0], ["words[0]", "count[1]", 1, None], "traffic[0][3]"),
    (["topologies", 0, "traffic", 0], ["words[0]", "count[1]", 1, 1, 1], "bytes per tuple"),
    (["topologies", 0, "traffic", 0], "abc", "traffic[0]"),
    (["current", "wordcount-1", "words"], ["n00:6700"], "current.wordcount-1.words"),
    (["current", "wordcount-1", "words", 0], "n00", "words[0]"),
    (["current", "wordcount-1", "words", 0], "n00:port", "words[0]"),
    (["current", "wordcount-1", "words", 0], 6700, "words[0]"),
    (["current", "wordcount-1", "words"], ..., '"words"'),
    (["current", "wordcount-1", "more"], [], "current.wordcount-1.more"),
    (["current", "other"], {}, "current.other"),
]


@pytest.mark.parametrize(("place", "value", "named"), WRONG)
def test_what_is_wrong_is_named_with_its_place(tmp_path, place, value, named):
    assert named in complaint(write(tmp_path, put(EXAMPLE, place, value)))


def test_what_simulations_add_is_read_again(tmp_path):
    document = put(EXAMPLE, ["hop_us"], {"node": 200, "distance": 100.5})
    document = put(document, ["topologies", 0, "loss"], 0.001)
    document = put(document, ["topologies", 0, "resend_ms"], 50)
    problem = read_problem(write(tmp_path, put(document, [*COMPONENT, "buffer"], 4096)))
    (topology,) = problem.topologies
    assert (problem.hop.node_us, problem.hop.distance_us) == (200.0, 100.5)
    assert (topology.loss, topology.resend_ms, topology.components[1].buffer) == (0.001, 50.0, 4096)
    write_problem(tmp_path / "again.json", problem)
    assert as_values(read_problem(tmp_path / "again.json")) == as_values(problem)


def test_what_is_declared_of_operators_is_read_again(tmp_path):
    operator = {"kind": "filter", "schema": {"word": 8.0}, "predicate": {"equals": 50}}
    document = put(EXAMPLE, [*COMPONENT, "operator"], operator)
    problem = read_problem(write(tmp_path, put(document, [*STREAM[:2], "streams_measured"], True)))
    (topology,) = problem.topologies
    assert topology.components[1].operator == read_operator(json.dumps(operator))
    assert topology.streams_measured
    write_problem(tmp_path / "again.json", problem)
    assert as_values(read_problem(tmp_path / "again.json")) == as_values(problem)


def test_several_topologies_need_names_of_their_own(tmp_path):
    document = put(EXAMPLE, ["topologies"], EXAMPLE["topologies"] * 2)
    assert "occurs twice" in complaint(write(tmp_path, document))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "not JSON"),
        ("{", "line 1"),
        ("[]", "an object"),
        ("null", "an object"),
        ('{"a": 1, "a": 2}', '"a" occurs twice'),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": ' + "9" * 5000 + "}", "digits"),
        ("[" * 100_000, "deep"),
    ],
)
def test_what_is_no_json_is_one_line(tmp_path, text, named):
    assert named in complaint(write(tmp_path, text))


def test_numbers_beyond_all_bounds(tmp_path):
    text = json.dumps(EXAMPLE).replace("600.0", "1e999")
    assert "tuples_per_second" in complaint(write(tmp_path, text))


def test_files_that_cannot_be_read(tmp_path):
    assert "No such file" in complaint(tmp_path / "none.json")
    assert "directory" in complaint(tmp_path).lower()
    path = tmp_path / "latin.json"
    path.write_bytes(b'{"format": "\xe4"}')
    assert "UTF-8" in complaint(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def places(document, way=()):
    members = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in members:
        yield [*way, key]
        if isinstance(value, dict | list):
            yield from places(value, (*way, key))


@given(place=st.sampled_from(list(places(EXAMPLE))), value=json_values)
def test_any_value_anywhere_is_read_or_named(place, value, tmp_path_factory):
    path = write(tmp_path_factory.mktemp("fuzz"), put(EXAMPLE, place, value))
    try:
        problem = read_problem(path)
    except InvalidInput as error:
        assert "\n" not in str(error)
        assert str(path) in str(error)
    else:
        assert np.isfinite(problem.executor_cpu).all()


def test_a_large_cluster_is_read_without_writing_out_its_pairs(tmp_path):
    components = [{"name": f"c{i}", "kind": "bolt", "executors": 1000} for i in range(40)]
    stream = {"stream": "default", "grouping": "shuffle", "tuples_per_second": 1.0}
    streams = [stream | {"source": f"c{i // 4}", "target": f"c{10 + i}"} for i in range(14)]
    topology = {"id": "t", "workers": None, "components": components, "streams": streams}
    nodes = [{"id": f"n{i}", "ports": [6700]} for i in range(2000)]
    document = {"format": "stormcut-problem/1", "nodes": nodes, "topologies": [topology]}
    problem = read_problem(write(tmp_path, document))
    assert problem.executor_count == 40_000
    assert sum(len(b.sources) * len(b.targets) for b in problem.traffic.blocks) == 14_000_000
    assert len(problem.traffic.rate) == 0
