"""What is anchored, by what ackers are told, and what of it windows hold back."""

from dataclasses import replace

import numpy as np
import pytest

from stormcut.model.network import Link
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Topology
from stormcut.objective.anchoring import anchored_share
from stormcut.objective.headroom import headroom
from stormcut.objective.throughput import predict_throughput, throughput

RATE, BYTES = 100.0, 10_000.0


def reporting(acks_of_report):
    """A source, a bolt that counts and reports on ticks, a bolt that takes reports, an acker."""
    parts = tuple(
        Component.uniform(name, 1, kind, cpu_percent=1.0)
        for name, kind in (
            ("s", "spout"),
            ("count", "bolt"),
            ("report", "bolt"),
            ("__acker", "bolt"),
        )
    )
    pairs = (
        MeasuredPair(("s", 0), ("count", 0), RATE, BYTES),
        MeasuredPair(("count", 0), ("report", 0), RATE, BYTES),
        MeasuredPair(("s", 0), ("__acker", 0), RATE, 30.0),
        MeasuredPair(("count", 0), ("__acker", 0), RATE, 30.0),
        MeasuredPair(("__acker", 0), ("s", 0), RATE, 30.0),
        *(
            [MeasuredPair(("report", 0), ("__acker", 0), acks_of_report, 30.0)]
            * (acks_of_report > 0)
        ),
    )
    # 1 Mbit/s into the second node: 12.5 tuples/s of 10,000 bytes.
    nodes = (Node("n0", (1,)), Node("n1", (1,), link=Link(None, 1.0)))
    topology = Topology("t", parts, (), pairs, max_spout_pending=20)
    return Problem(nodes, (topology,))


def test_a_share_is_acks_sent_for_tuples_taken():
    assert anchored_share(reporting(0.0)) == pytest.approx([1.0, 1.0, 0.0, 1.0])
    assert anchored_share(reporting(RATE)) == pytest.approx([1.0, 1.0, 1.0, 1.0])
    assert anchored_share(reporting(RATE / 2)) == pytest.approx([1.0, 1.0, 0.5, 1.0])


def test_without_ackers_all_counts_as_anchored():
    problem = reporting(0.0)
    (topology,) = problem.topologies
    pairs = tuple(
        pair for pair in topology.measured if "__acker" not in (pair.source[0], pair.target[0])
    )
    silent = replace(problem, topologies=(replace(topology, measured=pairs),))
    assert (anchored_share(silent) == 1.0).all()


def test_a_window_holds_back_what_is_anchored_alone():
    """Reports cross the narrow link, and nothing else does."""
    apart = Placement(np.array([0, 0, 1, 0]))
    held, free = (throughput(reporting(acks), apart) for acks in (RATE, 0.0))
    assert held.total == pytest.approx(12.5, rel=0.05)
    assert held.carried == 1.0
    assert free.total > 100 * held.total
    # Reports pile up, unless sources send no faster than head-room allows.
    room = headroom(reporting(0.0), apart)
    assert free.sustained == pytest.approx(RATE * room.value)


def test_tuples_wait_behind_reports_on_the_link_that_they_share():
    """Half of what would fit, as half of the link is taken by reports as large."""
    apart = Placement(np.array([0, 1, 1, 0]))
    problem = reporting(0.0)
    (topology,) = problem.topologies
    alone = throughput(problem, apart).total
    # The same, with the reports' bolt fed from the source's node.
    pairs = tuple(
        pair._replace(source=("s", 0)) if pair.target == ("report", 0) else pair
        for pair in topology.measured
    )
    shared = replace(problem, topologies=(replace(topology, measured=pairs),))
    assert alone == pytest.approx(12.5, rel=0.05)
    assert throughput(shared, apart).total == pytest.approx(alone / 2, rel=0.05)


def test_nothing_is_predicted_where_nothing_is_known():
    problem = reporting(0.0)
    (topology,) = problem.topologies
    idle = replace(problem, topologies=(replace(topology, measured=()),))
    assert predict_throughput(idle, Placement(np.zeros(4, dtype=np.int64))) is None
