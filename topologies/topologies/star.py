"""Sources that all send to one hub, which sends to all sinks (thesis, micro-benchmark)."""

from micro.build import build
from micro.layout import star
from micro.settings import micro
from rig.options import Option, count

OPTIONS = micro(
    {
        "sources": Option(2, count, "spouts"),
        "sinks": Option(2, count, "bolts after the hub"),
        "source.tasks": Option(4, count, "tasks of each source"),
        "hub": Option(8, count, "tasks of the hub"),
        "tasks": Option(8, count, "tasks of each sink"),
    }
)

Star = build(
    "Star",
    star(
        OPTIONS["sources"],
        OPTIONS["sinks"],
        OPTIONS["source.tasks"],
        OPTIONS["hub"],
        OPTIONS["tasks"],
    ),
    OPTIONS,
)
