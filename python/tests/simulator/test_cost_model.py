"""The cost model and the simulator, which moves tuples, say the same of any placement."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from random_clusters import KINDS, problem_of

from stormcut.model.errors import Infeasible
from stormcut.model.placement import UNASSIGNED, Placement
from stormcut.objective.headroom import headroom
from stormcut.objective.relaying import relay
from stormcut.objective.resources import uses
from stormcut.placement.slots.seating import seat
from stormcut.placement.solve import solve
from stormcut.simulator.events import simulate
from stormcut.simulator.simulation import named_uses

#: Kinds of which a problem takes seconds.
LARGE = {"large", "huge", "many", "medium"}
#: With less, a thread that is nearly full may not get all the CPU that it needs of a node that is
#: nearly full: it has to wait for others, which only the simulator knows.
ROOM = 1.3


def placement_of(problem, algorithm, seed):
    if algorithm == "random":
        able = [at for at, node in enumerate(problem.nodes) if node.ports]
        nodes = np.random.default_rng(seed).choice(able, problem.executor_count)
        return Placement(seat(problem, nodes, np.zeros_like(nodes)))
    return solve(problem, algorithm, 1, {"effort": "0.1"} if algorithm == "cut" else {}).placement


def is_by_tuple(problem):
    """Whether all that executors do follows from what they take."""
    us, takes = problem.executor_cpu_us, problem.executor_rate > 0
    traffic, _ = relay(problem, np.full(problem.executor_count, UNASSIGNED))
    source, _, rate = traffic.unfolded()
    sent = np.bincount(source, rate, problem.executor_count)
    declared = any(np.isnan(us[part.executors]).any() for part in problem.relays)
    return not declared and not (((problem.executor_cpu > 0) | (sent > 0)) & ~takes).any()


@pytest.mark.slow
@given(
    kind=st.sampled_from(sorted(set(KINDS) - LARGE)),
    seed=st.integers(0, 10**6),
    algorithm=st.sampled_from(("cut", "even", "random")),
)
def test_every_resource_is_as_full_as_predicted(kind, seed, algorithm):
    problem = problem_of(kind, seed)
    assume(is_by_tuple(problem))
    try:
        placement = placement_of(problem, algorithm, seed)
    except (Infeasible, ValueError):
        assume(False)
    assume((headroom(problem, placement).value or ROOM) >= ROOM)
    simulated = simulate(problem, placement)
    assert not simulated.saturated
    seen = {use.resource: use.value for use in simulated.uses}
    shares = (
        (use.kind, at, share)
        for use in uses(problem, placement)
        for at, share in enumerate(use.share.tolist())
        if share > 0
    )
    for told in named_uses(problem, shares):
        assert seen.get(told.resource, 0.0) == pytest.approx(told.value, rel=0.1, abs=0.02)
