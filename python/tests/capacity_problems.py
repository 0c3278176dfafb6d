"""Small measured topologies to be planned for."""

from hypothesis import strategies as st

from stormcut.model.network import Link
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Topology


@st.composite
def measured_problems(draw):
    """Return a source, a bolt and a sink whose executors take different shares, on equal nodes."""
    sizes = [draw(st.integers(1, 3)) for _ in range(3)]
    names = ("source", "work", "sink")
    rate = st.floats(1.0, 200.0)
    pairs = tuple(
        MeasuredPair((names[k], i), (names[k + 1], j), draw(rate), draw(st.floats(20.0, 2000.0)))
        for k in range(2)
        for i in range(sizes[k])
        for j in range(sizes[k + 1])
    )
    cpu = draw(st.floats(2.0, 60.0))
    parts = tuple(
        Component.uniform(name, size, "bolt" if at else "spout", cpu, 10.0)
        for at, (name, size) in enumerate(zip(names, sizes, strict=True))
    )
    link = Link(*[draw(st.one_of(st.none(), st.floats(1.0, 20.0)))] * 2)
    nodes = tuple(Node(f"n{i}", (1, 2), cpu_percent=200.0, link=link) for i in range(4))
    return Problem(nodes, (Topology("t", parts, (), pairs),))
