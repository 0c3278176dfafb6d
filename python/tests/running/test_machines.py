"""What machines really have: cores, other programs, links; and that decisions hang on no noise."""

from dataclasses import replace

import pytest
from brain_clusters import dealt, profile_of, supervisors, topology
from governed import Stage
from hypothesis import given
from hypothesis import strategies as st

from stormcut.control.outlook import _limited
from stormcut.control.policy import Mode, Policy, Rule
from stormcut.model.cluster import ClusterState, Slot
from stormcut.model.network import SHIPPED
from stormcut.model.profile import WorkerLoad
from stormcut.running.declared import link
from stormcut.running.machines import (
    QUIET_S,
    Machine,
    Machines,
    SharedMachine,
    read_machines,
    read_shared_machines,
    with_real_capacity,
)
from stormcut.running.situation import fitting
from stormcut.running.workload import workload

#: A worker's own, by the shipped costs.
RATE = 100.0


def profile_with_machine(running, *, cores=2.0, used=120.0, machine="", mbit=(5.0, 3.0)):
    """A profile in which every worker reports its machine."""
    profile = profile_of(running, 20.0, lambda s, t: RATE, memory=None)
    workers = tuple(
        WorkerLoad(f"h{w.slot.node[1:]}", w.slot.port, machine, 50.0, cores, used, *mbit)
        for w in running.assignment
    )
    return replace(profile, workers=workers)


def two_nodes(**changes):
    """One topology with a worker on each of two nodes that declare Storm's 400 points."""
    running = dealt(topology("t", (2, 2), acker=False), [Slot("n0", 6700), Slot("n1", 6700)])
    meta = {"stormcut.link.mbit": "100"}
    return ClusterState(supervisors(2, meta=meta), (running,)), {
        "t": profile_with_machine(running, **changes)
    }


def read(state, profiles, costs=None):
    return read_machines(state, profiles, costs, lambda t: workload(t, fitting(profiles, t)))


@pytest.mark.parametrize(("cores", "left"), [(2.0, 200.0), (0.5, 50.0), (8.0, 400.0)])
def test_the_smaller_of_declared_and_real_counts(cores, left):
    state, profiles = two_nodes(cores=cores, used=0.0)
    real = with_real_capacity(state, profiles)
    assert [supervisor.cpu_percent for supervisor in real.supervisors] == [left, left]


def test_nobody_has_to_leave_what_several_topologies_are_measured_to_use():
    both = [
        dealt(topology(name, (2, 2), acker=False), [Slot(f"n{n}", port) for n in (0, 1)])
        for name, port in (("t", 6700), ("u", 6701))
    ]
    profiles = {each.id: profile_with_machine(each, cores=0.2, used=20.0) for each in both}
    real = with_real_capacity(ClusterState(supervisors(2), tuple(both)), profiles)
    # Four executors of 20 points, of a machine that has 20.
    assert all(80.0 <= supervisor.cpu_percent < 100.0 for supervisor in real.supervisors)


def test_a_full_machine_breaks_no_limit_by_what_is_measured_there():
    """Half of it was declared. Only a broken limit could move it: moves for gain are forbidden."""
    running = dealt(topology("t", (4, 4), acker=False), [Slot(f"n{n}", 6700) for n in (0, 1)])
    profiles = {"t": profile_with_machine(running, cores=0.2, used=20.0)}
    never = Policy(Mode.AUTOMATIC, rule=Rule.NEVER)
    stage = Stage(ClusterState(supervisors(3), (running,)), profiles, never)
    for _ in range(60):
        assert stage.round() == []


@given(st.floats(0.5, 16.0), st.floats(0.0, 1.0))
def test_what_is_told_adds_up_to_what_is_used(cores, share):
    """What tuples need by the model and what others use is what the machine says."""
    used = share * 100 * cores
    state, profiles = two_nodes(cores=cores, used=used)
    for machine in read(state, profiles).values():
        explained = machine.used_percent - machine.other_percent
        assert machine.used_percent == pytest.approx(used)
        assert explained <= max(used, 0.0) + 1e-9
    for supervisor in with_real_capacity(state, profiles).supervisors:
        # Two executors of 20 points run on each, whatever is measured.
        assert 40.0 <= supervisor.cpu_percent <= max(40.0, 100 * cores + 2.5)


def test_an_idle_worker_is_explained_in_whichever_slot_it_runs():
    slots = [Slot("n0", 6700), Slot("n0", 6701), Slot("n1", 6700)]
    running = dealt(topology("t", (2, 2), acker=False), slots)
    state, profiles = (
        ClusterState(supervisors(2), (running,)),
        {"t": profile_with_machine(running, used=190.0)},
    )
    free, dear = (
        read(state, profiles, replace(SHIPPED, worker_percent=points)) for points in (0.0, 30.0)
    )
    explained = {node: free[node].other_percent - dear[node].other_percent for node in free}
    assert explained == pytest.approx({"n0": 60.0, "n1": 30.0})


def test_what_others_send_is_not_left_of_the_link():
    state, profiles = two_nodes(mbit=(60.0, 30.0))
    its = link(with_real_capacity(state, profiles).supervisors[0])
    assert its.into == pytest.approx(40.0, abs=1.0)
    assert its.out == pytest.approx(70.0, abs=1.0)


def test_nodes_that_share_a_machine_or_do_not_tell_keep_what_they_declare():
    state, profiles = two_nodes(machine="boot")
    assert read(state, profiles) == {}
    assert with_real_capacity(state, profiles) == state
    state, profiles = two_nodes()
    workers = profiles["t"].workers[:1]
    assert read(state, {"t": replace(profiles["t"], workers=workers)}).keys() == {"n0"}
    one_host = tuple(replace(s, host="h0") for s in state.supervisors)
    assert read(replace(state, supervisors=one_host), profiles) == {}
    assert read(state, {}) == {}


def machine(other):
    return Machine("h0", 400.0, 200.0, 50.0 + other, other, 0.0, 0.0)


def test_what_others_use_is_learned_in_quiet_times_and_not_from_noise():
    state, _ = two_nodes()
    quiet = QUIET_S + 1
    first = Machines().observe(state, {"n0": machine(80.0)}, 0.0)
    assert first.known["n0"].other_percent == 0.0
    known = first.observe(state, {"n0": machine(80.0)}, quiet)
    assert known.known["n0"].other_percent == 80.0
    # 10 points of 200 are noise, 30 are not.
    known = known.observe(state, {"n0": machine(90.0)}, quiet + 10)
    assert known.known["n0"].other_percent == 80.0
    known = known.observe(state, {"n0": machine(110.0)}, quiet + 20)
    assert known.known["n0"].other_percent == 110.0
    # A worker has left: what it used is not yet what others use.
    (running,) = state.topologies
    moved = replace(state, topologies=(replace(running, assignment=running.assignment[:1]),))
    known = known.observe(moved, {"n0": machine(180.0)}, quiet + 30)
    assert known.known["n0"].other_percent == 110.0
    # Who tells nothing is as it was.
    assert known.observe(moved, {}, quiet + 40).known["n0"].other_percent == 110.0
    gone = replace(moved, supervisors=moved.supervisors[1:])
    assert known.observe(gone, {}, quiet + 50).known == {}


def test_a_link_that_another_program_fills_is_learned_though_the_cpu_stays_the_same():
    state, _ = two_nodes()
    quiet = QUIET_S + 1
    busy = replace(machine(80.0), other_out_mbit=40.0)
    known = Machines().observe(state, {"n0": machine(80.0)}, 0.0)
    known = known.observe(state, {"n0": busy}, quiet)
    assert known.known["n0"].other_out_mbit == 40.0
    little_more = replace(busy, other_out_mbit=41.0)
    known = known.observe(state, {"n0": little_more}, quiet + 10)
    assert known.known["n0"].other_out_mbit == 40.0
    ended = replace(busy, other_out_mbit=0.0)
    assert known.observe(state, {"n0": ended}, quiet + 20).known["n0"].other_out_mbit == 0.0


def test_a_full_machine_is_left_though_its_capacity_was_declared_fourfold():
    """Two nodes declare 400 points and have 50 and 200: head-room was 10 with both cores full."""
    slots = [Slot("n0", 6700), Slot("n1", 6700)]
    running = dealt(topology("t", (3, 3), acker=False), [slots[0]])
    profile = profile_of(running, 7.0, lambda s, t: RATE, memory=None)
    full = WorkerLoad("h0", 6700, "", 60.0, 0.5, 50.0, 1.0, 1.0)
    state = ClusterState(supervisors(2), (running,))
    stage = Stage(state, {"t": replace(profile, workers=(full,))}, Policy(Mode.ADVISE))
    stage.round()
    outlook = stage.brain.outlook(settled=False)
    (line,) = outlook["withheld"]
    assert line["before"]["headroom"] < 1.1 and line["before"]["fullest"] == "CPU of node n0"
    assert {node for node, _, _ in line["workers"]} == {"n1"}
    assert "h0 declares 400 points and has 50 (0.5 cores)" in outlook["machines"]["n0"]
    plain = Stage(state, {"t": profile}, Policy(Mode.ADVISE))
    plain.round()
    assert plain.brain.outlook(settled=False)["machines"] == {}


@pytest.mark.slow
def test_a_machine_that_is_less_than_declared_moves_nobody_by_itself():
    """What was always so is no reason to end workers at once."""
    state, profiles = two_nodes(cores=0.3, used=30.0)
    stage = Stage(state, profiles, Policy(Mode.AUTOMATIC))
    for _ in range(5):
        assert stage.round() == []


def shared(state, profiles):
    return read_shared_machines(state, profiles, None, lambda t: workload(t, fitting(profiles, t)))


def test_a_shared_machine_is_full_when_all_of_it_is_used():
    state, profiles = two_nodes(machine="boot", used=200.0)
    (machine,) = set(shared(state, profiles).values())
    assert (machine.hosts, machine.real_percent, machine.used_percent) == (("h0", "h1"), 200.0, 200)
    # Four executors of 20 points, and what workers and transfer take.
    assert 80.0 <= machine.explained_percent < 120.0
    assert machine.headroom == pytest.approx(1.0) and machine.is_news
    half = next(iter(shared(*two_nodes(machine="boot", used=100.0)).values()))
    its = machine.explained_percent
    assert half.headroom == pytest.approx((its + 100.0) / its) and not half.is_news
    assert shared(*two_nodes()) == {}


def test_the_head_room_told_is_the_shared_machine_s_and_no_decision_hangs_on_it():
    room, moved = {}, {}
    for used in (100.0, 190.0):
        stage = Stage(*two_nodes(machine="boot", used=used), Policy(Mode.AUTOMATIC))
        moved[used] = stage.round()
        document = stage.brain.outlook()
        (line,) = document["topologies"]
        room[used] = line["after"]["headroom"]
        assert line["after"]["fullest"] == "CPU of the machine of h0, h1"
        assert ("190 are used" in str(document["machines"])) == (used == 190.0)
    assert 1.0 < room[190.0] < room[100.0]
    assert moved[190.0] == moved[100.0]


def test_before_and_after_of_what_waits_or_would_be_count_the_shared_machine_too():
    """A plan that waited said 33.8 where the status said 1.0."""
    slots = [Slot("n0", 6700), Slot("n1", 6700)]
    running = dealt(topology("t", (4, 4), acker=False), slots)
    profiles = {"t": profile_with_machine(running, machine="boot", used=200.0)}
    stage = Stage(ClusterState(supervisors(2), (running,)), profiles, Policy(Mode.ADVISE))
    stage.round()
    outlook = stage.brain.outlook(settled=False)
    (waits,) = outlook["withheld"]
    (shown,) = stage.brain.preview("t", profiles["t"], None)["withheld"]
    (forced,) = outlook["override"]["topologies"]
    for line in (waits, shown, forced):
        for moment in ("before", "after"):
            assert line[moment]["headroom"] == pytest.approx(1.0)
            assert line[moment]["fullest"] == "CPU of the machine of h0, h1"


def test_the_smaller_of_a_topology_s_and_its_shared_machine_s_head_room_is_told():
    figures, workers = {"headroom": 1.5, "fullest": "CPU of node n0"}, [["n0", 1, [1]]]
    line = {"before": None, "former": [], "after": figures, "workers": [*workers, ["n1", 1, [2]]]}

    def with_room(host, times):
        return SharedMachine((host,), times * 50.0, 50.0, 50.0)

    for times in (1.5, 2.0):
        assert _limited(line, {"n0": with_room("h0", times)}) == line
    machines = {f"n{at}": with_room(f"h{at}", times) for at, times in enumerate((1.4, 1.2, 1.0))}
    of_h1 = {"headroom": 1.2, "fullest": "CPU of the machine of h1"}
    assert _limited(line, machines) == {**line, "after": of_h1}
    both = {**line, "before": figures, "former": workers}
    of_h0 = {"headroom": 1.4, "fullest": "CPU of the machine of h0"}
    assert _limited(both, machines) == {**line, "before": of_h0, "former": workers, "after": of_h1}
    unknown = {**line, "after": {"headroom": None}}
    assert _limited(unknown, machines) == unknown
