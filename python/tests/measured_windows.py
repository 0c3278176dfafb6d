"""A small topology on three nodes, and what nodes would use if given costs were true."""

from dataclasses import replace

import numpy as np

from stormcut.lab.experiment.calibrate import ObservedWindow, trees_per_s
from stormcut.model.network import Link
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Topology
from stormcut.objective.resources import CPU, LINK_IN, LINK_OUT, uses

NODES = 3


def problem(link=None):
    """Two sources, four bolts, an acker; tuples of two sizes."""
    sources, bolts = [("source", at) for at in range(2)], [("bolt", at) for at in range(4)]
    acker = ("__acker", 0)
    pairs = [
        MeasuredPair(a, b, 40.0 + 10 * b[1], 200.0 if b[1] % 2 else 4000.0)
        for a in sources
        for b in bolts
    ]
    pairs += [MeasuredPair(a, acker, 50.0, 20.0) for a in (*sources, *bolts)]
    pairs += [MeasuredPair(acker, a, 50.0, 13.0) for a in sources]
    components = (
        Component.uniform("source", 2, kind="spout", cpu_percent=4.0),
        Component.uniform("bolt", 4, cpu_percent=3.0),
        Component.uniform("__acker", 1, cpu_percent=1.0),
    )
    nodes = tuple(
        Node(f"n{at}", (1,), cpu_percent=400.0, link=link or Link()) for at in range(NODES)
    )
    return Problem(nodes, (Topology("t", components, (), tuple(pairs)),))


def observed(costs, slots, growth):
    """What nodes would use if the costs were true."""
    at = grown(replace(problem(), costs=costs), growth)
    placement = Placement(np.array(slots))
    used = {use.kind: use.load for use in uses(at, placement)}
    workers = np.bincount(np.unique(slots), minlength=NODES)
    return ObservedWindow(
        problem(),
        placement,
        trees_per_s(at),
        costs.worker_percent * workers + used[CPU],
        used[LINK_OUT],
        used[LINK_IN],
    )


def grown(at, growth):
    """The problem with all rates, and what executors need for them, so many times as high."""
    (topology,) = at.topologies
    pairs = tuple(
        pair._replace(tuples_per_second=pair.tuples_per_second * growth)
        for pair in topology.measured
    )
    parts = tuple(
        replace(part, cpu_percent=part.cpu_percent * growth) for part in topology.components
    )
    return replace(at, topologies=(replace(topology, measured=pairs, components=parts),))
