"""Advice for what runs: executors, workers, the line to type, and refusals."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

import pytest
from brain_clusters import dealt, profile_of, supervisors, topology

from stormcut.application.scaling import advise, measured_problem
from stormcut.model.cluster import ClusterState, Slot
from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.placement import Placement
from stormcut.objective.resources import CPU, uses


def running(tasks_each=1, cpu=30.0, nodes=4, assigned=True):
    """Two sources and three bolts, measured for a minute."""
    own = topology("t", (2, 3), tasks_each=tasks_each, acker=False)
    if assigned:
        own = dealt(own, [Slot("n0", 6700), Slot("n1", 6700)])
    return ClusterState(supervisors(nodes), (own,)), {"t": profile_of(own, cpu, memory=None)}


def advice(state, profiles, factor):
    return advise(state, measured_problem(state, profiles, ["t"]), {"t": factor})


def test_a_rate_that_fits_asks_for_no_more_executors():
    found = advice(*running(), 1.0)
    assert {name: need.planned for name, need in found.demand.needs["t"].items()} == {
        "c0": 2,
        "c1": 3,
    }
    # One worker is enough: cut gathers what fits one node.
    assert found.commands == ("storm rebalance t -n 1",)
    (note,) = found.notes
    saved = re.fullmatch(
        r"t: 1 workers instead of 2 carry it; workers and transfer between them take ([0-9.]+)% of "
        r"the CPU used instead of ([0-9.]+)%, and losing one node stops up to 100% of its "
        r"executors instead of 60%",
        note,
    )
    assert saved and float(saved[1]) < float(saved[2])


@pytest.mark.slow
def test_more_executors_are_asked_for_as_far_as_there_are_tasks():
    found = advice(*running(tasks_each=2), 5.0)
    # 30 points each, five times as much: 150 points an executor, of 80 that it may use.
    assert {name: need.planned for name, need in found.demand.needs["t"].items()} == {
        "c0": 4,
        "c1": 6,
    }
    (line,) = found.commands
    assert line.startswith("storm rebalance t ") and "-e c0=4 -e c1=6" in line
    assert found.plan.solution.headroom.value >= 1.25 - 1e-9
    short = advice(*running(), 5.0)
    assert not any("-e" in line for line in short.commands)
    assert "c1 of t has 3 tasks" in short.notes[1]


def test_lines_to_type_are_quoted():
    state, profiles = running(tasks_each=2)
    (own,) = state.topologies
    names = {"c0": "$spoutcoord-spout-txid1", "c1": "b-0-split words"}
    executors = tuple(
        replace(e, component=names.get(e.component, e.component)) for e in own.executors
    )
    streams = tuple(replace(s, source=names[s.source], target=names[s.target]) for s in own.streams)
    odd = replace(own, executors=executors, streams=streams)
    loads = tuple(
        replace(e, component=names.get(e.component, e.component)) for e in profiles["t"].executors
    )
    found = advice(
        replace(state, topologies=(odd,)), {"t": replace(profiles["t"], executors=loads)}, 5.0
    )
    (line,) = found.commands
    assert shlex.split(line)[-4:] == ["-e", "$spoutcoord-spout-txid1=4", "-e", "b-0-split words=6"]


def test_a_full_cluster_makes_advice_uncertain():
    state, profiles = running(cpu=95.0)
    found = advice(state, profiles, 1.5)
    assert "95% in use: more may be offered already" in found.notes[0]


def test_nodes_have_their_hosts_names():
    state, profiles = running(cpu=30.0)
    state = replace(state, supervisors=supervisors(4, cpu=95.0))
    found = advice(state, profiles, 1.0)
    assert "the CPU of node h0" in found.notes[0]


def test_what_the_nodes_do_not_carry_is_refused():
    with pytest.raises(Infeasible):
        advice(*running(nodes=1), 20.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda state, profiles: (state, {}), "nothing is measured yet"),
        (
            lambda state, profiles: (state, {"t": replace(profiles["t"], to_epoch_s=110)}),
            "it was measured for 10 s; wait until it is 60 s",
        ),
        (
            lambda state, profiles: (state, {"t": replace(profiles["t"], traffic=())}),
            "no tuple was sent",
        ),
        (
            lambda state, profiles: (
                state,
                {"t": replace(profiles["t"], executors=profiles["t"].executors[1:])},
            ),
            "does not fit what runs: it lacks executor",
        ),
        (lambda state, profiles: running(assigned=False), "5 of its executors run nowhere"),
    ],
)
def test_thin_evidence_is_refused_with_its_reason(change, words):
    state, profiles = change(*running())
    with pytest.raises(InvalidInput, match=words):
        measured_problem(state, profiles, ["t"])


def test_what_runs_fits_by_the_costs_of_the_advice():
    state, profiles = running(cpu=131.0)
    problem = measured_problem(state, profiles, ["t"])
    now = Placement(problem.current_slots())
    (cpu,) = (use for use in uses(problem, now) if use.kind == CPU)
    (shipped,) = (use for use in uses(replace(problem, costs=None), now) if use.kind == CPU)
    assert shipped.share.max() > 1
    assert cpu.share.max() == pytest.approx(1.0)
