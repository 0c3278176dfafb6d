"""What operators emit by what is declared of them: specification, sections 2.2 and 2.3."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_problems import nodes

from stormcut.model.operator import Operator, read_operator
from stormcut.model.predicate import estimate_selectivity
from stormcut.model.problem import Component, Problem, Stream, Topology
from stormcut.placement.algorithms.bframework.partitioner import UNKNOWN, partition
from stormcut.placement.algorithms.bframework.place import Options, labelled
from stormcut.placement.algorithms.bframework.profiler import estimate_volumes, output_rate
from stormcut.placement.algorithms.bframework.query import queries
from stormcut.placement.solve import solve

#: W1 of the specification, section 1.5.
W1 = {
    "s": Operator("source", rate=10_000.0, schema={"id": 8.0, "text": 192.0}),
    "f": Operator("filter", selectivity=0.5, schema={"all": 200.0}),
    "p": Operator("project", schema={"id": 8.0, "word": 42.0}),
    "a": Operator("group_by", groups=1000.0, slide_s=1.0, schema={"count": 40.0}),
    "u": Operator("user_defined"),
    "k": Operator("end", schema={"row": 40.0}),
}
EDGES = (("s", "f"), ("f", "p"), ("p", "a"), ("p", "u"), ("a", "k"))


def query(operators, edges, sizes=None, rates=None, executors=2, measured=False):
    """Return a topology whose components have these operators, on three nodes."""
    targets = {target for _, target in edges}
    names = dict.fromkeys(each for edge in edges for each in edge)
    parts = tuple(
        Component(
            name,
            "bolt" if name in targets else "spout",
            executors,
            Component.uniform(name, executors).cpu_percent,
            Component.uniform(name, executors).memory_mb,
            operator=operators.get(name),
        )
        for name in names
    )
    streams = tuple(
        Stream(a, b, (rates or {}).get((a, b), 1.0), bytes_per_tuple=(sizes or {}).get((a, b)))
        for a, b in edges
    )
    topology = Topology("t", parts, streams, streams_measured=measured)
    return Problem(nodes(3, cpu_percent=400.0), (topology,))


def test_the_profile_of_w1():
    (found,) = queries(query(W1, EDGES))
    names = [c.name for c in query(W1, EDGES).topologies[0].components]
    volumes = dict(zip(names, found.declared, strict=True))
    assert volumes == {"s": 2e6, "f": 1e6, "p": 250_000, "a": 40_000, "u": None, "k": 40_000}
    parts = partition(found.declared)
    assert (round(parts.ratio, 2), parts.count) == (13.64, 3)
    # Edges carry what their source emits.
    assert {(names[a], names[b]): v for a, b, v in found.edges}["f", "p"] == 1e6


@pytest.mark.parametrize(
    ("operator", "inputs", "rate"),
    [
        (Operator("source", rate=7.0), [], 7.0),
        (Operator("source"), [], 1.0),
        (Operator("map"), [3.0, 4.0], 7.0),
        (Operator("project"), [5000.0], 5000.0),
        (Operator("filter", selectivity=0.5), [10_000.0], 5000.0),
        (Operator("filter", predicate={"equals": 50}), [100.0], 2.0),
        (Operator("filter"), [100.0], None),
        (Operator("flat_map", selectivity=9.0), [10.0], 90.0),
        (Operator("flat_map"), [10.0], None),
        (Operator("group_by", groups=1000.0, slide_s=1.0), [None], 1000.0),
        (Operator("group_by", groups=1000.0), [5.0], None),
        (Operator("join", selectivity=0.01, windows_s=(2.0, 2.0)), [100.0, 50.0], 200.0),
        (Operator("join", selectivity=0.01), [100.0, 50.0], None),
        (Operator("join", selectivity=0.01, windows_s=(2.0, 2.0)), [100.0, None], None),
        (Operator("user_defined"), [5.0], None),
        (Operator("user_defined", selectivity=2.0), [5.0], 10.0),
        (Operator("map"), [5.0, None], None),
        (Operator("end"), [5.0], 5.0),
    ],
    ids=str,
)
def test_what_operators_emit(operator, inputs, rate):
    assert output_rate(operator, inputs) == rate


@pytest.mark.parametrize(
    ("predicate", "part"),
    [
        ({"equals": 50}, 0.02),
        ({"equals": None}, 0.1),
        ({"same": [50, 200]}, 0.005),
        ({"same": None}, 0.1),
        ({"above": [80, 0, 100]}, 0.2),
        ({"above": None}, 1 / 3),
        ({"below": [80, 0, 100]}, 0.8),
        ({"between": [20, 70, 0, 100]}, 0.5),
        ({"between": None}, 0.25),
        ({"in": [3, None]}, 0.3),
        ({"in": [30, 10]}, 0.5),
        ({"and": [{"equals": 10}, {"equals": 5}]}, 0.02),
        ({"or": [{"equals": 10}, {"equals": 5}]}, 0.28),
        ({"not": {"equals": 10}}, 0.9),
        ({"above": [200, 0, 100]}, 0.0),
    ],
    ids=str,
)
def test_selectivities_of_predicates(predicate, part):
    assert estimate_selectivity(predicate) == pytest.approx(part)


@pytest.mark.parametrize(
    "predicate",
    [{}, {"like": 1}, {"equals": 0}, {"above": [1, 2]}, {"above": 1}, {"not": 3}, {"and": 1},
     {"equals": "a"}, {"equals": 1, "not": {}}, {"equals": -1}, {"above": [10**400, 0, 1]},
     {"between": [-1e308, 1e308, -1e308, 1e308]}],
    ids=str,
)  # fmt: skip
def test_what_is_no_predicate_is_refused(predicate):
    with pytest.raises(ValueError, match="is not a predicate"):
        estimate_selectivity(predicate)


def test_what_no_number_holds_is_unknown():
    huge = {
        "s": Operator("source", rate=1e300, schema={"a": 1e300}),
        "m": Operator("flat_map", selectivity=1e300, schema={"a": 1.0}),
        "e": Operator("filter", selectivity=0.0, schema={"a": 1.0}),
    }
    volumes = estimate_volumes(query(huge, (("s", "m"), ("m", "e"))).topologies[0], (0, 1, 2))
    assert volumes == (None, None, None)


def test_an_end_without_a_schema_writes_nothing_and_a_cycle_ends():
    loop = {
        "s": Operator("source", schema={"a": 10.0}),
        "m": Operator("map", schema={"a": 10.0}),
        "r": Operator("filter", selectivity=0.5, schema={"a": 10.0}),
        "e": Operator("end"),
    }
    edges = (("s", "m"), ("m", "r"), ("r", "m"), ("m", "e"))
    (topology,) = query(loop, edges).topologies
    volumes = estimate_volumes(topology, (0, 1, 2, 3))
    assert volumes[0] == 10.0
    assert volumes[3] == 0.0


def test_a_query_that_declares_nothing_is_whole_in_the_third_partition():
    edges = (("words", "split"), ("split", "count"))
    problem = query({}, edges, rates={("words", "split"): 100.0, ("split", "count"): 2000.0})
    (found,) = queries(problem)
    labels = labelled(found, found.declared, Options())
    assert (labels.labels == UNKNOWN).all()
    assert (labels.count, labels.ratio) == (1, None)
    assert solve(problem, "bframework", 1).placement.notes == ("t: 1 partition, R none",)


def test_measured_streams_are_no_declaration():
    sizes = dict.fromkeys(EDGES, 100.0)
    (before,) = queries(query({}, EDGES, sizes))
    (after,) = queries(query({}, EDGES, sizes, measured=True))
    assert None not in before.declared
    assert set(after.declared) == {None}
    assert after.measured == before.declared


def test_phase_two_says_what_it_compares():
    """On a cluster, labels before and after were always the same: both were measured."""
    sizes = {("s", "f"): 10.0, ("f", "p"): 10.0, ("p", "a"): 10_000.0, ("p", "u"): 10_000.0}
    rates = dict.fromkeys(EDGES, 100.0)
    problem = query(W1, EDGES, sizes | {("a", "k"): 1.0}, rates, measured=True)
    (found,) = queries(problem)
    before, after = (labelled(found, v, Options()) for v in (found.declared, found.measured))
    assert before.labels.tolist() != after.labels.tolist()
    assert after.labels[2] == 1  # p: light as declared, heavy as measured


NUMBERS = st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
PREDICATES = st.recursive(
    st.dictionaries(
        st.sampled_from(["equals", "same", "above", "below", "between", "in"]),
        NUMBERS | st.lists(NUMBERS, min_size=2, max_size=4),
        min_size=1,
        max_size=1,
    ),
    lambda part: (
        st.fixed_dictionaries({"not": part})
        | st.fixed_dictionaries({"and": st.lists(part, max_size=3)})
        | st.fixed_dictionaries({"or": st.lists(part, max_size=3)})
    ),
    max_leaves=4,
)


@given(PREDICATES | st.text(max_size=40))
def test_any_operator_is_read(predicate):
    operator = read_operator(json.dumps({"kind": "filter", "predicate": predicate}))
    if not operator.unreadable:
        assert 0 <= estimate_selectivity(operator.predicate) <= 1


@pytest.mark.parametrize("depth", [2, 500, 2_000, 50_000])
def test_a_nested_operator_is_read_or_says_why_not(depth):
    nested = '{"not":' * depth + '{"equals": 2}' + "}" * depth
    operator = read_operator(f'{{"kind": "filter", "predicate": {nested}}}')
    assert operator.kind == ("user_defined" if operator.unreadable else "filter")


def test_an_unreadable_operator_says_why():
    operator = read_operator('{"kind": "filter", "selectivity": "much"}')
    assert operator.kind == "user_defined"
    assert "selectivity" in operator.unreadable
    notes = solve(query({"s": operator}, EDGES), "bframework", 1).placement.notes
    assert any("the operator of s cannot be read" in each for each in notes)
