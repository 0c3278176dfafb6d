"""What the brain knows of time: when changes were applied."""

from dataclasses import replace

from brain_clusters import applied, dealt, supervisors, topology
from governed import Stage, spread

from stormcut.control.decide.pace import Pace
from stormcut.control.policy import Mode, Policy
from stormcut.model.cluster import ClusterState, Slot
from stormcut.model.plan import Plan, TopologyPlan

HERE = ClusterState(
    supervisors(3), (dealt(topology("t", (2, 2)), [Slot(f"n{i}", 6700) for i in range(2)]),)
)
THERE = tuple(dealt(HERE.topologies[0], [Slot("n2", 6700)]).assignment)
PLAN = Plan("p", HERE.fingerprint(), 40_000, (TopologyPlan("t", THERE, "ols", "moved"),))
MOVED = applied(HERE, PLAN.topologies)


def seen(*observations):
    """Return the seconds since the last change, after (state, plan, moment) were observed."""
    pace = Pace()
    for state, plan, now in observations:
        pace = pace.observe(state, plan, now, now - 40.0)
    return pace.since_change(("t",))


def test_a_plan_is_no_change_before_the_cluster_has_made_it():
    assert seen((HERE, None, 10.0), (HERE, PLAN, 50.0)) is None
    assert seen((HERE, None, 10.0), (HERE, PLAN, 50.0), (MOVED, PLAN, 60.0)) == 0.0
    assert seen((HERE, None, 10.0), (MOVED, PLAN, 60.0), (MOVED, PLAN, 75.0)) == 15.0


def test_what_storm_moves_is_no_change_of_ours():
    elsewhere = applied(HERE, [TopologyPlan("t", THERE, "kept", "")])
    assert seen((HERE, None, 10.0), (elsewhere, None, 60.0)) is None
    assert seen((HERE, PLAN, 50.0), (MOVED, None, 60.0)) is None


def test_a_first_placement_and_a_worker_that_returns_are_no_changes():
    new = ClusterState(supervisors(3), (topology("t", (2, 2)),))
    assert seen((new, None, 10.0), (MOVED, PLAN, 60.0)) is None
    hurt = replace(MOVED, topologies=(replace(MOVED.topologies[0], assignment=()),))
    assert (
        seen((HERE, None, 10.0), (MOVED, PLAN, 60.0), (hurt, PLAN, 70.0), (MOVED, PLAN, 80.0)) == 20
    )


def test_a_new_leader_takes_what_runs_as_planned_for_moved_by_that_plan():
    assert seen((MOVED, PLAN, 60.0)) == 20.0
    assert seen((HERE, PLAN, 60.0)) is None


def test_topologies_that_are_one_problem_have_the_latest_change_of_all():
    pace = Pace()
    for state, now in ((HERE, 10.0), (MOVED, 60.0), (MOVED, 70.0)):
        pace = pace.observe(state, PLAN, now)
    assert pace.since_change(("s", "t")) == 10.0
    assert pace.since_change(("s",)) is None


def test_a_topology_that_is_gone_is_forgotten():
    assert (
        seen((HERE, None, 10.0), (MOVED, PLAN, 60.0), (replace(HERE, topologies=()), None, 70.0))
        is None
    )


def test_who_takes_over_knows_no_pace_but_that_of_the_last_plan():
    stage = Stage(*spread("a"), Policy(Mode.AUTOMATIC))
    stage.round(1000)
    stage.round(10)
    assert stage.brain._left.pace != Pace()
    stage.brain.take_over()
    assert stage.brain._left.pace == Pace()
