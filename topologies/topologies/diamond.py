"""A source, bolts side by side, a sink that hears them all (thesis, micro-benchmark)."""

from micro.build import build
from micro.layout import diamond
from micro.settings import micro
from rig.options import Option, count

OPTIONS = micro(
    {
        "middles": Option(3, count, "bolts between source and sink"),
        "tasks": Option(8, count, "tasks of each of them"),
        "ends": Option(8, count, "tasks of the source and of the sink"),
    }
)

Diamond = build("Diamond", diamond(OPTIONS["middles"], OPTIONS["tasks"], OPTIONS["ends"]), OPTIONS)
