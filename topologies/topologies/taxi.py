"""The ten most frequent taxi routes of the last half hour (thesis, DEBS 2015)."""

from typing import ClassVar

from streamparse import Grouping, Topology

from frequent_routes.final_rank import FinalRank
from frequent_routes.intermediate_rank import IntermediateRank
from frequent_routes.preprocess import Preprocess
from frequent_routes.rolling_count import RollingCount
from frequent_routes.source import Source
from rig.options import MODE, Option, count, declare, positive

OPTIONS = declare(
    {"rate": 400},
    {
        "mode": MODE,
        "window.minutes": Option(30, count, "the sliding window, in minutes of event time"),
        "speedup": Option(600.0, positive, "seconds of event time in a second"),
    },
    data="taxi-chicago/trips.csv.gz",
)
#: As printed, a route's count is split over the tasks of Rolling count.
BY_ROUTE = Grouping.SHUFFLE if OPTIONS["mode"] == "thesis" else Grouping.fields("route")


@OPTIONS.with_parallelism
class Taxi(Topology):
    """Source -> Preprocess -> Rolling count -> Intermediate rank -> Final rank."""

    source = Source.spec(par=OPTIONS.tasks(16))
    preprocess = Preprocess.spec(inputs={source: Grouping.SHUFFLE}, par=OPTIONS.tasks(16))
    rolling_count = RollingCount.spec(inputs={preprocess: BY_ROUTE}, par=OPTIONS.tasks(8))
    intermediate_rank = IntermediateRank.spec(
        inputs={rolling_count: Grouping.fields("route")}, par=OPTIONS.tasks(4)
    )
    # One task: it is what makes the ranking global.
    final_rank = FinalRank.spec(inputs={intermediate_rank: Grouping.GLOBAL})

    config: ClassVar = OPTIONS.config()
