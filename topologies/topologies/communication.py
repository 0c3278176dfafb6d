"""Lines of a book that get twice as long at every bolt (StroMAX, synthetic communication)."""

from streamparse import Grouping, Topology
from streamparse.dsl.topology import TopologyType

from rig.options import Option, count, declare
from rig.source import FileSource
from words.double import Double, LastDouble

OPTIONS = declare(
    own={"bolts": Option(3, count, "bolts after the source")}, data="text/moby-dick.txt.gz"
)


def chain() -> TopologyType:
    """Return Source -> Double -> ... -> Double."""
    specs = {"source": FileSource.spec(name="source", par=OPTIONS.tasks(3))}
    for number in range(1, OPTIONS["bolts"] + 1):
        kind = LastDouble if number == OPTIONS["bolts"] else Double
        before = list(specs.values())[-1]
        specs[f"double_{number}"] = kind.spec(
            name=f"double_{number}", inputs={before: Grouping.SHUFFLE}, par=OPTIONS.tasks(10)
        )
    chained = TopologyType("Communication", (Topology,), {**specs, "config": OPTIONS.config()})
    return OPTIONS.with_parallelism(chained)


Communication = chain()
