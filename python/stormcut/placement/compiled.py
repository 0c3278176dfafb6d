"""Compiles all numba kernels once, so that no first user waits: ``python -m`` this module.

What numba compiles is kept beside the source files, or in the user's cache where these cannot be
written. Kernels are compiled by use, on a problem of two nodes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from stormcut.model.placement import Placement
from stormcut.model.problem import Component, Node, Problem, Stream, Topology
from stormcut.placement.caps import place as caps
from stormcut.placement.cut.construct import fill
from stormcut.placement.cut.instance import instance
from stormcut.placement.cut.options import Options
from stormcut.placement.cut.place import place
from stormcut.placement.cut.replan import replan


def compile_all() -> None:
    """Use every compiled function once; takes about a minute where nothing is compiled yet."""
    problem, rng = _problem(), np.random.default_rng(1)
    for options in (Options(), Options(objective="contention"), Options(restart_price=1.0)):
        place(problem, rng, options)
    asked = instance(problem, Options())
    fill(asked, rng)
    replan(asked, (1.0, 0.01, 1.0), rng, 1.0)
    caps.place(problem, rng, caps.Options())


def _problem() -> Problem:
    parts = (Component.uniform("source", 4, "spout"), Component.uniform("sink", 4))
    first = Topology("first", parts, (Stream("source", "sink", 100.0),))
    nodes = tuple(Node(f"n{i}", (1, 2), f"rack{i}", 400.0, 4096.0, 6) for i in range(3))
    slots = np.arange(16) % 6
    slots[0] = -1
    return Problem(nodes, (first, replace(first, id="second")), Placement(slots))


if __name__ == "__main__":
    compile_all()
