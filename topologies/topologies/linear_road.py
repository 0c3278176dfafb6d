"""Tolls of an expressway by traffic and accidents (Bframework, after Linear Road)."""

from typing import ClassVar

from streamparse import Grouping, Topology

from highway.components import Accidents, Parse, Source, Statistics, Stopped, Toll
from rig.options import declare

OPTIONS = declare()
TASKS = OPTIONS.tasks(4)
BY_SEGMENT = Grouping.fields("segment")


@OPTIONS.with_parallelism
class LinearRoad(Topology):
    """Source -> Parse -> {Stopped -> Accidents, Statistics} -> Toll."""

    source = Source.spec(par=TASKS)
    parse = Parse.spec(inputs={source: Grouping.SHUFFLE}, par=TASKS)
    stopped = Stopped.spec(inputs={parse: Grouping.fields("car")}, par=TASKS)
    accidents = Accidents.spec(inputs={stopped: Grouping.fields("feet")}, par=TASKS)
    statistics = Statistics.spec(inputs={parse: BY_SEGMENT}, par=TASKS)
    toll = Toll.spec(inputs={accidents: BY_SEGMENT, statistics: BY_SEGMENT}, par=TASKS)

    config: ClassVar = OPTIONS.config()
