import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormcut.model.cluster import (
    ClusterState,
    RunningExecutor,
    RunningTopology,
    Slot,
    Supervisor,
    Worker,
)
from stormcut.model.errors import InvalidInput


def executors(*ranges):
    return tuple(RunningExecutor(start, end, name) for start, end, name in ranges)


def test_fingerprint_hashes_the_text_of_the_protocol():
    state = ClusterState(
        (
            Supervisor("ß", "h1", ()),
            Supervisor("b", "h2", (6701, 10, 6700), 400.0, 0.1, {"rack": "ä", "a": "1"}),
        ),
        (
            RunningTopology("t-2", "t", 1, executors((3, 4, "x y"), (1, 2, "a"))),
            RunningTopology("t-1", "t", 1, ()),
        ),
    )
    text = (
        "node b 10,6700,6701 4079000000000000 3fb999999999999a\nmeta a=1\nmeta rack=ä\n"
        "node ß  - -\n"
        "topology t-1\ntopology t-2\nexecutor 1 2 a\nexecutor 3 4 x y\n"
    )
    assert state.fingerprint() == hashlib.sha256(text.encode()).hexdigest()


@given(
    st.permutations([Supervisor(name, name, (1, 2)) for name in ("a", "B", "ä", "aa", "𝄞", "ﬀ")])
)
def test_fingerprint_knows_no_order(supervisors):
    ordered = ClusterState(tuple(sorted(supervisors, key=lambda s: s.id)), ())
    assert ClusterState(tuple(supervisors), ()).fingerprint() == ordered.fingerprint()


def test_what_runs_where_is_not_part_of_the_fingerprint():
    def state(*workers):
        topology = RunningTopology("t", "t", 1, executors((1, 1, "a")), (), workers)
        return ClusterState((Supervisor("n", "h", (1,)),), (topology,))

    assert state().fingerprint() == state(Worker(Slot("n", 1), (1,))).fingerprint()


@pytest.mark.parametrize(
    ("topologies", "says"),
    [
        ((RunningTopology("t", "t", 1, executors((1, 2, "a"), (2, 3, "b"))),), "shares tasks"),
        ((RunningTopology("t", "t", 1, executors((2, 1, "a"))),), "ends before it starts"),
        ((RunningTopology("t", "t", 1, ()), RunningTopology("t", "t", 1, ())), "occurs twice"),
        (
            (RunningTopology("t", "t", 1, (), (), (Worker(Slot("n", 1), (7,)),)),),
            "unknown executor 7",
        ),
        (
            tuple(
                RunningTopology(
                    name, name, 1, executors((1, 1, "a")), (), (Worker(Slot("n", 1), (1,)),)
                )
                for name in "ab"
            ),
            "slot n:1 occurs twice",
        ),
        ((RunningTopology("t", "t", 1, (RunningExecutor(1, 1, "a", float("nan")),)),), "not an am"),
    ],
)
def test_a_state_that_contradicts_itself_is_refused(topologies, says):
    with pytest.raises(InvalidInput, match=says):
        ClusterState((Supervisor("n", "h", (1, 2)),), topologies)
