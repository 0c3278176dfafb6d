"""What-if: `stormcut place` on the imported cluster answers what the brain would plan."""

from dataclasses import replace

import pytest
from brain_clusters import clusters, dealt, profile_of, supervisors, topology
from hypothesis import assume, given
from hypothesis import strategies as st

from stormcut.adapters.files.problem_file import read_problem, write_problem
from stormcut.control.decide.adviser import Settings
from stormcut.control.decide.attempts import attempts
from stormcut.control.decide.decide import decide
from stormcut.control.decide.question import Question
from stormcut.model.cluster import ClusterState, Slot
from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.network import SHIPPED
from stormcut.model.profile import WorkerLoad
from stormcut.objective.metrics import measure
from stormcut.placement.solve import solve
from stormcut.running.situation import (
    Situation,
    named_by_host,
    running_problem,
    unmeasured,
)
from stormcut.running.workload import workload

#: Hardly any search: what is compared is the question, not the answer's quality.
FAST = Settings(options={"effort": "0"})


#: Other ids of supervisors: those of one host in the same order, hosts in another.
RENAMED = str.maketrans("abcef", "zxaij")


def with_sizes(profile):
    """The profile as the hook gives it: with most tuples' sizes."""
    sized = (replace(p, bytes_per_tuple=10.0 + p.source_task % 3 * 40) for p in profile.traffic)
    return replace(profile, traffic=tuple(sized))


@pytest.mark.slow
@given(clusters(), st.booleans())
def test_place_on_the_file_gives_the_brains_plan(tmp_path_factory, cluster, sized):
    state, profiles = cluster
    state = replace(state, topologies=state.topologies[:1])
    profiles = {name: with_sizes(p) if sized else p for name, p in profiles.items()}
    decided = decide(Question(state, profiles, None, FAST)).decided
    # Where a limit is broken only what must leave does, which no algorithm is asked for.
    assume(decided and decided[0].choice.algorithm == FAST.algorithm)
    part = decided[0]

    path = tmp_path_factory.mktemp("whatif") / "problem.json"
    write_problem(path, named_by_host(running_problem(state, profiles), state))
    problem = read_problem(path)
    nodes, options = next(attempts(problem, FAST.algorithm, FAST.options))
    assume(len(nodes) == len(problem.nodes))
    assert options == {"cpu_share": "0.8", "effort": "0"}
    keep = {"workers": "any" if state.topologies[0].workers_policy == "pack" else "keep"}
    try:
        solution = solve(problem, FAST.algorithm, options={**options, **keep})
    except Infeasible:  # within 80 % of the CPU: the brain then asks for all of it
        solution = solve(problem, FAST.algorithm, options={**FAST.options, **keep})
    load = workload(state.topologies[0], profiles.get(part.topology))
    hosts = {s.host: s.id for s in state.supervisors}
    workers = {
        (hosts[w.slot.node], w.slot.port, w.executors)
        for w in Situation((load,), problem).workers(solution.placement)[0]
    }
    assert workers == {(w.slot.node, w.slot.port, w.executors) for w in part.workers}


@given(clusters())
def test_what_runs_is_worth_what_the_brain_says(cluster):
    state, profiles = cluster
    problem = running_problem(state, profiles)
    assert [t.id for t in problem.topologies] == sorted(t.id for t in state.topologies)
    for decision in decide(Question(state, profiles, None, FAST)).decided:
        if decision.before is not None:
            alone = running_problem(state, profiles, decision.topology)
            assert measure(alone, alone.current) == decision.before.metrics


def test_nodes_that_follow_each_other_are_near_whatever_the_supervisors_ids():
    hosts = ("node2", "node9", "node9", "node10", "node10-b")
    ids = ("c", "e", "f", "a", "b")  # any: Storm draws them at random
    listed = tuple(
        replace(each, id=name, host=host)
        for each, name, host in zip(supervisors(5), ids, hosts, strict=True)
    )
    state = ClusterState(listed[::-1], (topology("t", (3, 4, 3, 4), acker=False),))
    assert tuple(node.id for node in running_problem(state, {}).nodes) == ids
    # Pipeline-linear's steps go from one node to those near it.
    hosts_of = dict(zip(ids, hosts, strict=True))
    renamed = replace(
        state, supervisors=tuple(replace(s, id=s.id.translate(RENAMED)) for s in listed)
    )
    hosts_then = {s.id: s.host for s in renamed.supervisors}
    one, other = (
        decide(Question(each, {}, None, Settings("pipeline-linear"))).decided[0].workers
        for each in (state, renamed)
    )
    on = sorted((w.executors, hosts_of[w.slot.node]) for w in one)
    assert on == sorted((w.executors, hosts_then[w.slot.node]) for w in other)


def test_one_topology_has_what_the_others_leave():
    other = dealt(topology("other", (4,), acker=False), [Slot("n0", 6700)])
    state = ClusterState(supervisors(2, cpu=100.0), (topology("t"), other))
    problem = running_problem(state, {"other": profile_of(other, cpu=20.0)}, "t")
    assert [topology.id for topology in problem.topologies] == ["t"]
    assert [node.cpu_percent for node in problem.nodes] == [20.0, 100.0]
    assert problem.nodes[0].ports == (6701, 6702, 6703)
    with pytest.raises(InvalidInput, match=r"nobody: no such topology runs \(running: other, t\)"):
        running_problem(state, {}, "nobody")


def test_a_profile_of_other_executors_counts_for_nothing():
    state = ClusterState(supervisors(2), (topology("t", (2, 3)),))
    problem = running_problem(state, {"t": profile_of(topology("t", (5, 5)), cpu=77.0)})
    declared = running_problem(state, {})
    assert (problem.executor_cpu == declared.executor_cpu).all()
    assert problem.traffic.total == declared.traffic.total


@pytest.mark.parametrize("only", [None, "t"])
def test_a_problem_has_the_costs_that_were_fitted(only):
    fitted = replace(SHIPPED, send_us_per_tuple=1.0, source="a file")
    state = ClusterState(supervisors(2), (topology("t"),))
    assert running_problem(state, {}, only, fitted).costs == fitted


def test_what_a_topology_takes_and_sends_depends_on_the_costs_that_were_fitted():
    """Of what its processes take, what moving tuples explains is none of its executors'."""
    slots = [Slot("n0", 6700), Slot("n1", 6700)]
    running = dealt(topology("t", (2, 2), acker=False), slots)
    its_workers = tuple(
        WorkerLoad(f"h{w.slot.node[1:]}", w.slot.port, "", 60.0, 2.0, 80.0, 0.0, 0.0)
        for w in running.assignment
    )
    profile = replace(profile_of(running, 20.0, lambda *_: 100.0, memory=None), workers=its_workers)
    linked = supervisors(2, meta={"stormcut.link.mbit": "100"})
    state = ClusterState(linked, (running, topology("u")))
    dear = replace(SHIPPED, send_us_per_tuple=500.0, source="a file")
    of_dear, of_shipped = (
        running_problem(state, {"t": profile}, "t", each) for each in (dear, SHIPPED)
    )
    assert of_dear.executor_cpu.sum() < of_shipped.executor_cpu.sum()
    wordy = replace(SHIPPED, link_bytes_per_tuple=1000.0, source="a file")
    left = [
        running_problem(state, {"t": profile}, "u", each).nodes[0].link.out
        for each in (wordy, SHIPPED)
    ]
    assert left[0] < left[1] < 100.0


def test_hosts_name_nodes_unless_two_share_one():
    slots = [Slot("n0", 6700), Slot("gone", 6700), Slot("n1", 9999)]
    gone = dealt(topology("t"), slots)
    state = ClusterState(supervisors(2), (gone,))
    problem = named_by_host(running_problem(state, {}), state)
    assert [node.id for node in problem.nodes] == ["h0", "h1"]
    assert set(problem.lost_slots) == {("gone", 6700), ("h1", 9999)}
    shared = ClusterState(tuple(replace(s, host="h") for s in state.supervisors), (gone,))
    assert [n.id for n in named_by_host(running_problem(shared, {}), shared).nodes] == ["n0", "n1"]


def test_what_is_not_measured_is_said_and_why():
    fits, other, none = (topology(name) for name in ("a", "b", "c"))
    state = ClusterState(supervisors(2), (fits, other, none))
    profiles = {"a": profile_of(fits), "b": profile_of(topology("b", (5, 5)))}
    first, second = unmeasured(state, profiles, ["a", "b", "c"])
    assert first.startswith("b counts as declared") and "it lacks executor" in first
    assert second.endswith("no profile")
