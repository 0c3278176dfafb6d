"""`cut` with objective=headroom: most head-room, a proof of how much is possible, few moves."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from problem_strategies import problems, with_resources
from small_problems import chain, nodes

from stormcut.model.errors import Infeasible
from stormcut.model.network import Link
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Topology
from stormcut.objective.headroom import headroom
from stormcut.objective.verify import violations
from stormcut.placement.bounds.headroom_bound import headroom_bound
from stormcut.placement.slots.seating import seat
from stormcut.placement.solve import HeadroomCertificate, solve

#: Placements that are tried one by one.
MOST = 300


def solved(problem, **options):
    texts = {key: str(value) for key, value in options.items()}
    return solve(problem, "cut", 1, {"objective": "headroom", **texts})


def room(problem, placement):
    value = headroom(problem, placement).value
    return np.inf if value is None else value


def best_of_all(problem):
    """The most head-room of all feasible placements with one worker a topology and node."""
    hosts = [at for at, node in enumerate(problem.nodes) if node.ports]
    best = None
    for choice in itertools.product(hosts, repeat=problem.executor_count):
        at = np.array(choice, dtype=np.int64)
        tenants = np.unique(np.stack((at, problem.executor_topology)), axis=1)[0]
        if any((tenants == n).sum() > len(problem.nodes[n].ports) for n in set(choice)):
            continue
        placement = Placement(seat(problem, at, np.zeros_like(at)))
        if not violations(problem, placement):
            best = max(best or 0.0, room(problem, placement))
    return best


def is_small(problem):
    hosts = sum(1 for node in problem.nodes if node.ports)
    return hosts and hosts**problem.executor_count <= MOST


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(problem=problems().filter(is_small).flatmap(with_resources))
def test_it_finds_the_most_and_proves_that_no_more_is_possible(problem):
    """The most but for a hundredth, which it gives for less traffic between nodes."""
    best = best_of_all(problem)
    bound = headroom_bound(problem, 0.1)
    if best is None:
        with pytest.raises(Infeasible):
            solved(problem, effort=0.1)
        return
    found = room(problem, solved(problem, effort=0.1).placement)
    assert found * 1.01 >= best or (np.isinf(best) and np.isinf(found))
    assert bound is None or bound.headroom >= best * (1 - 1e-9)


@pytest.mark.slow
@given(problem=problems().flatmap(with_resources))
def test_no_other_objective_has_more_and_the_certificate_fits(problem):
    try:
        packed = solve(problem, "cut", 1, {"effort": "0.1"})
    except Infeasible:
        return
    most = solved(problem, effort=0.1)
    found = room(problem, most.placement)
    assert found >= room(problem, packed.placement) * (1 - 1e-9)
    if most.certificate is not None:
        assert isinstance(most.certificate, HeadroomCertificate)
        assert most.certificate.upper_bound >= found
        assert most.certificate.gap == pytest.approx(most.certificate.upper_bound / found - 1)


@pytest.mark.slow
@given(problem=problems().flatmap(with_resources))
def test_what_runs_as_well_stays(problem):
    free = replace(problem, current=None, lost_slots=())
    try:
        first = solved(free, effort=0.1)
    except Infeasible:
        return
    again = solved(replace(free, current=first.placement), effort=0.1)
    assert room(free, again.placement) >= room(free, first.placement) * (1 - 1e-9)
    better = room(free, again.placement) > room(free, first.placement)
    if not better:
        saved = (
            first.metrics.inter_node_tuples_per_second,
            again.metrics.inter_node_tuples_per_second,
        )
        assert again.metrics.workers_restarted == 0 or saved[1] < saved[0]


def uneven(link):
    """Eight executors that exchange much with one partner each, on two nodes."""
    pairs = tuple(
        MeasuredPair(("s", i), ("r", j), 1000.0 if i == j else 50.0, 1000.0)
        for i in range(4)
        for j in range(4)
    )
    parts = tuple(Component.uniform(name, 4, cpu_percent=40.0) for name in "sr")
    hosts = tuple(Node(f"n{k}", (0,), cpu_percent=400.0, link=link) for k in range(2))
    return Problem(hosts, (Topology("t", parts, (), pairs),))


def test_where_links_are_wide_cpu_is_shared_out_and_where_narrow_nothing_travels():
    wide, narrow = (solved(uneven(Link(mbit, mbit))) for mbit in (1000.0, 1.0))
    assert wide.metrics.nodes_used == 2
    # Partners stay together all the same: of the placements with as much head-room, the least.
    assert wide.metrics.inter_node_tuples_per_second == pytest.approx(8 * 50.0)
    assert narrow.metrics.nodes_used == 1


def test_each_way_of_a_link_counts_on_its_own():
    # n0 can send nothing: what remains is to put receivers' sources elsewhere, or all on one node.
    problem = uneven(Link(None, None))
    deaf = replace(problem.nodes[0], link=Link(None, 0.001), max_executors=4)
    full = replace(problem.nodes[1], max_executors=4)
    solution = solved(replace(problem, nodes=(deaf, full)))
    sources = solution.placement.slots[:4]
    assert (sources == sources[0]).all() and sources[0] == 0


def test_what_it_spreads_is_what_costs_cpu():
    problem = Problem(nodes(4, cpu_percent=100.0), (chain([6, 6], rate=10.0, workers=4),))
    packed, even = solve(problem, "cut", 1, {"objective": "cut"}), solved(problem)
    assert room(problem, even.placement) > 2 * room(problem, packed.placement)
    assert even.certificate.gap < 0.05
