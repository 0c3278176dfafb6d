"""Large clusters: little is new if little changes, and the search is as long as time allows."""

from dataclasses import replace

import pytest
from brain_clusters import applied, dealt, profile_of, supervisors, topology

from stormcut.control.decide import adviser, search_budget
from stormcut.control.decide.adviser import Settings
from stormcut.control.decide.attempts import MANY_NODES, SPACIOUS, roomiest
from stormcut.control.decide.decide import decide
from stormcut.control.decide.decision import Circumstance
from stormcut.control.decide.memory import Memory
from stormcut.control.decide.question import Question
from stormcut.control.decide.search_budget import effort_for
from stormcut.control.history import plan_parts
from stormcut.model.cluster import ClusterState, Slot
from stormcut.model.plan import Plan
from stormcut.placement.acceptance import Saving, Skew
from stormcut.running.situation import running_problem, situation
from stormcut.running.usage import Usage
from stormcut.running.workload import workload

SLOTS = [Slot(f"n{i}", 6700) for i in range(3)]
OTHER_SLOTS = [Slot(f"n{i}", 6701) for i in range(3)]
RUNNING = ClusterState(
    supervisors(3),
    (dealt(topology("a-1-1", (2, 2)), SLOTS), dealt(topology("b-1-1", (2, 2)), OTHER_SLOTS)),
)
#: More than a node has: something always travels.
CPU_PERCENT = 90.0
PROFILES = {t.id: profile_of(t, CPU_PERCENT, memory=None) for t in RUNNING.topologies}


def done(state, memory, profiles, last=None):
    decisions = decide(Question(state, profiles, last, Settings()), memory)
    plan = Plan("p", "", 0, *plan_parts(decisions))
    return applied(state, plan.topologies), plan


@pytest.mark.slow
def test_what_is_settled_is_not_sought_again(solved):
    memory = Memory()
    state, plan = done(RUNNING, memory, PROFILES)
    solved.clear()
    again, same = done(state, memory, PROFILES, plan)
    assert again == state
    assert same.places_like(plan)
    assert not solved


@pytest.mark.slow
def test_only_what_is_new_is_sought(solved):
    memory = Memory()
    state, plan = done(RUNNING, memory, PROFILES)
    solved.clear()
    more = replace(state, topologies=(*state.topologies, topology("c-1-1", (2, 2))))
    done(more, memory, PROFILES, plan)
    assert set(solved) == {"c-1-1"}


@pytest.mark.slow
@pytest.mark.parametrize("change", ["profile", "supervisor", "gone", "workers"])
def test_what_a_change_may_make_better_is_sought_anew(solved, change):
    memory = Memory()
    state, plan = done(RUNNING, memory, PROFILES)
    solved.clear()
    first, second = state.topologies
    profiles = dict(PROFILES)
    if change == "profile":
        profiles["a-1-1"] = profile_of(first, CPU_PERCENT, rate=lambda s, t: 10.0 * s)
    elif change == "supervisor":
        state = replace(state, supervisors=supervisors(4))
    elif change == "gone":
        state = replace(state, topologies=(first,))
    else:
        state = replace(state, topologies=(dealt(first, SLOTS), second))
    after, _ = done(state, memory, profiles, plan)
    # What breaks a limit leaves, and the algorithm need not be asked.
    has_left = change == "workers" and after.topologies[0] != state.topologies[0]
    assert "a-1-1" in solved or has_left


@pytest.mark.slow
def test_a_memory_changes_no_decision():
    memory = Memory()
    state, plan = done(RUNNING, memory, PROFILES)
    assert done(RUNNING, None, PROFILES)[1] == plan
    assert done(state, memory, PROFILES, plan)[0] == done(state, None, PROFILES, plan)[0]


@pytest.mark.slow
def test_a_preview_leaves_no_trace_in_a_memory(solved):
    memory = Memory()
    done(RUNNING, memory.copy(), PROFILES)
    solved.clear()
    done(RUNNING, memory, PROFILES)
    assert solved


@pytest.mark.parametrize(
    ("nowhere", "running", "effort"),
    [
        ([13], [], None),
        ([], [66, *[6] * 11], None),  # together, and each alone
        ([], [1_000], None),
        ([], [1_000] * 3, "0.1"),
        ([], [250] * 20, "0"),
        # Nimbus waits for what runs nowhere; a better place is sought once it runs.
        ([100], [], "0.1"),
        ([1_000], [], "0"),
        ([1_000] * 50, [], "0"),
        ([], [10_000] * 3, "0"),
    ],
)
def test_the_more_there_is_to_place_the_shorter_it_is_sought(nowhere, running, effort):
    assert effort_for(nowhere, running) == effort


def slots_from(node):
    return [Slot(f"n{(node + i) % 8}", 6700 + i) for i in range(3)]


#: Each dealt out in turn over three nodes, in slots of its own.
MANY = ClusterState(
    supervisors(8),
    tuple(
        dealt(topology(f"{name}-1-1", (2, 2)), slots_from(at)) for at, name in enumerate("abcdefgh")
    ),
)
#: Five executors a node: there is room.
LIGHT_PERCENT = 40.0
MEASURED = {t.id: profile_of(t, LIGHT_PERCENT, memory=None) for t in MANY.topologies}


@pytest.fixture
def hasty(monkeypatch):
    """A round has time for one search, and each topology is a problem of its own."""
    monkeypatch.setattr(search_budget, "ROUND_S", 0.0)
    monkeypatch.setattr(adviser, "MAX_TOGETHER", 0)


def later_in(decisions):
    reason = Circumstance.LATER
    return [each.topology for each in decisions.decided if each.choice.reason is reason]


@pytest.mark.slow
def test_a_round_without_time_for_all_leaves_the_rest_to_later_ones(hasty, solved):
    memory, last, state, rounds = Memory(), None, MANY, []
    for _ in MANY.topologies:
        memory = memory.copy()
        decisions = decide(Question(state, MEASURED, last, Settings()), memory)
        rounds.append(later_in(decisions))
        assert bool(rounds[-1]) == (decisions.again_in == 0)
        last = Plan("p", "", 0, *plan_parts(decisions))
        state = applied(state, last.topologies)
    assert [len(each) for each in rounds] == [7, 6, 5, 4, 3, 2, 1, 0]
    assert set(solved) == {t.id for t in MANY.topologies}


@pytest.mark.slow
def test_one_that_is_always_measured_anew_keeps_no_other_from_its_turn(hasty, solved):
    memory, profiles = Memory(), dict(MEASURED)
    first = MANY.topologies[0]
    for number in range(1, 2 * len(MANY.topologies)):
        profiles[first.id] = profile_of(first, LIGHT_PERCENT, rate=lambda s, t, n=number: 10.0 * n)
        memory = memory.copy()
        decide(Question(MANY, profiles, None, Settings()), memory)
    assert set(solved) == {t.id for t in MANY.topologies}


@pytest.mark.slow
def test_a_move_that_waits_is_not_sought_again(solved):
    memory = Memory()
    asked = Question(RUNNING, PROFILES, None, Settings())
    found = decide(asked, memory)
    assert solved
    solved.clear()
    assert decide(asked, memory.copy()) == found
    assert not solved


def test_what_breaks_a_limit_does_not_wait_for_its_turn(hasty):
    full = replace(MANY, supervisors=supervisors(8, cpu=4 * LIGHT_PERCENT))
    decisions = decide(Question(full, MEASURED, None, Settings()), Memory())
    assert not later_in(decisions)


def test_of_many_nodes_those_with_most_room_are_searched_and_those_in_use():
    few = ClusterState(supervisors(MANY_NODES), (topology("t-1-1"),))
    problem = running_problem(few, {})
    assert roomiest(problem, problem.nodes) == problem.nodes
    small, large = supervisors(MANY_NODES, cpu=100.0), supervisors(300, cpu=400.0)[MANY_NODES:]
    running = dealt(topology("t-1-1"), [Slot("n0", 6700)])
    problem = running_problem(ClusterState((*small, *large), (running,)), {})
    chosen = [node.id for node in roomiest(problem, problem.nodes)]
    assert len(chosen) == MANY_NODES
    assert "n0" in chosen
    assert sum(node in {s.id for s in large} for node in chosen) == MANY_NODES - 1


def test_nodes_without_a_capacity_have_room_for_all():
    large = supervisors(MANY_NODES, cpu=400.0)
    free = supervisors(2 * MANY_NODES, cpu=None)[MANY_NODES:]
    problem = running_problem(ClusterState((*large, *free), (topology("t-1-1"),)), {})
    assert {node.id for node in roomiest(problem, problem.nodes)} == {each.id for each in free}


def test_a_large_topology_has_a_choice_among_many_nodes():
    wide = topology("t-1-1", (2_000, 2_000))
    problem = running_problem(ClusterState(supervisors(1_000), (wide,)), {})
    needed = 4_001 * 10.0 / 400.0
    assert len(roomiest(problem, problem.nodes)) == SPACIOUS * -(-needed // 1)


def test_a_condition_counts_once_a_measurement_and_only_in_a_row():
    memory, skew = Memory(), Skew("n0", 1.5, 1.12)
    assert [memory.held(("t",), (at,), skew) for at in (60, 60, 120, 120)] == [1, 1, 2, 2]
    assert memory.copy().held(("t",), (180,), skew) == 3
    # Others, another kind, or nothing of it.
    assert memory.held(("s", "t"), (180,), skew) == 1
    assert memory.held(("t",), (180,), Skew("n1", 2.0, 1.12)) == 3
    assert memory.held(("t",), (240,), Saving(2.0, 1.0, 0.0)) == 1
    assert memory.held(("t",), (300,), None) == 0
    assert memory.held(("t",), (360,), skew) == 1


def test_an_applied_change_begins_the_count_anew():
    memory, skew = Memory(), Skew("n0", 1.5, 1.12)
    assert [memory.held(("t",), (at,), skew, 10.0) for at in (1, 2)] == [1, 2]
    assert memory.held(("t",), (3,), skew, 60.0) == 1


def test_what_is_known_of_one_problem_is_not_known_of_another():
    running, _ = RUNNING.topologies
    name, usage = running.id, Usage(RUNNING)
    load = workload(running, PROFILES[name])
    one, other = (
        situation((load,), usage.left({name}, only), (running.assignment,))
        for only in (None, {"n0", "n1"})
    )
    adviser_ = adviser.Adviser(Settings())

    def refuse():
        raise AssertionError("nothing is known of it, whatever the problem")

    assert not adviser_.knows((name,), refuse)
    adviser_.advice((running,), one)
    assert adviser_.knows((name,), lambda: one.problem)
    assert not adviser_.knows((name,), lambda: other.problem)
    assert not adviser_.knows(("another",), refuse)
