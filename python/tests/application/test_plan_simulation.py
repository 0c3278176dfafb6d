"""What waiting changes would do, as simulated."""

from dataclasses import replace

import pytest
from brain_clusters import profile_of, supervisors, topology
from rich.console import Console

from stormcut.application.plan_simulation import changed, simulate_plan
from stormcut.model.cluster import ClusterState, Slot, Worker
from stormcut.model.errors import InvalidInput
from stormcut.report.simulated_plan import print_simulated_plan, simulated_plan_document

NODES = supervisors(4, slots=2, meta={"stormcut.link.mbit": "4"})


def workers(beside):
    """A source on each node, and the bolt that it sends to so many nodes further."""
    return tuple(Worker(Slot(f"n{at}", 6700), (1 + at, 5 + (at + beside) % 4)) for at in range(4))


RUNNING = replace(topology("t", (4, 4), workers=4, acker=False), assignment=workers(1))
STATE = ClusterState(NODES, (RUNNING,))
LINE = {
    "topology": "t",
    "workers": [[each.slot.node, each.slot.port, list(each.executors)] for each in workers(0)],
}


def measured(rate):
    """Each source sends all that it sends to one bolt, 1 kB a tuple."""
    found = profile_of(RUNNING, 0.01, lambda s, t: rate if t == s + 4 else 0.0)
    pairs = tuple(replace(pair, bytes_per_tuple=1000.0) for pair in found.traffic)
    return {"t": replace(found, traffic=tuple(p for p in pairs if p.tuples_per_second))}


def test_changes_put_topologies_where_they_say_and_leave_others():
    other = topology("u", (1, 1), acker=False)
    after = changed(ClusterState(NODES, (RUNNING, other)), [LINE, {"topology": "gone"}])
    assert [each.assignment for each in after.topologies] == [workers(0), ()]


@pytest.mark.slow
def test_tuples_that_stay_on_their_node_are_faster():
    found = simulate_plan(STATE, measured(200.0), [LINE])
    assert found.now.sources["t"] == pytest.approx(found.then.sources["t"], rel=0.02)
    assert found.then.latency["t"].mean < 0.8 * found.now.latency["t"].mean
    assert not found.now.saturated and not found.then.saturated


@pytest.mark.slow
def test_a_full_link_is_told_and_a_move_that_relieves_it():
    found = simulate_plan(STATE, measured(700.0), [LINE])
    assert found.now.saturated and not found.then.saturated
    document = simulated_plan_document(found)
    assert "link" in document["now"]["bottleneck"]
    console = Console(width=100, record=True)
    print_simulated_plan(console, found)
    text = console.export_text()
    assert "now: saturated, " in text and "then: saturated" not in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.slow
def test_a_topology_that_runs_in_part_is_left_out():
    part = topology("u", (1, 1), acker=False)
    found = simulate_plan(replace(STATE, topologies=(RUNNING, part)), measured(100.0), [LINE])
    assert set(found.now.sources) == set(found.then.sources) == {"t"}
    with pytest.raises(InvalidInput, match="no topology would run whole"):
        simulate_plan(replace(STATE, topologies=(part,)), {}, [LINE])


def test_what_does_not_run_yet_is_simulated_as_it_would_be():
    found = simulate_plan(
        replace(STATE, topologies=(replace(RUNNING, assignment=()),)), measured(100.0), [LINE]
    )
    assert found.now is None
    console = Console(width=100, record=True)
    print_simulated_plan(console, found)
    assert " now " not in console.export_text()
    assert found.then.latency["t"].p50 > 0
