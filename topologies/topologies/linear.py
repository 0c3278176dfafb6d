"""A chain of components that pass tuples on (thesis, micro-benchmark)."""

from micro.build import build
from micro.layout import linear
from micro.settings import micro
from rig.options import Option, count

OPTIONS = micro(
    {
        "bolts": Option(3, count, "bolts after the source"),
        "tasks": Option(8, count, "tasks of every component"),
    }
)

Linear = build("Linear", linear(OPTIONS["bolts"], OPTIONS["tasks"]), OPTIONS)
