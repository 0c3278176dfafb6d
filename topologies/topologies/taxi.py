"""The topology "taxi": the ten most frequent routes of the last half hour.

Parallelism and groupings are part of what Nimbus stores, so they must be known when this module
is loaded, before any `-o` option is read: they come from the environment of `sparse submit`.
"""

from typing import ClassVar

from streamparse import Grouping, Topology

from frequent_routes.final_rank import FinalRank
from frequent_routes.intermediate_rank import IntermediateRank
from frequent_routes.preprocess import Preprocess
from frequent_routes.rolling_count import RollingCount
from frequent_routes.shape import Mode, shape_from_environment
from frequent_routes.source import Source

SHAPE = shape_from_environment()


class Taxi(Topology):
    """Source -> Preprocess -> Rolling count -> Intermediate rank -> Final rank."""

    source = Source.spec(par=SHAPE.source)
    preprocess = Preprocess.spec(inputs={source: Grouping.SHUFFLE}, par=SHAPE.preprocess)
    rolling_count = RollingCount.spec(
        inputs={
            preprocess: Grouping.SHUFFLE if SHAPE.mode is Mode.THESIS else Grouping.fields("route")
        },
        par=SHAPE.rolling_count,
    )
    intermediate_rank = IntermediateRank.spec(
        inputs={rolling_count: Grouping.fields("route")}, par=SHAPE.intermediate_rank
    )
    final_rank = FinalRank.spec(inputs={intermediate_rank: Grouping.GLOBAL}, par=SHAPE.final_rank)

    config: ClassVar = {
        "topology.workers": 4,
        "topology.acker.executors": 2,
        # Load-aware shuffle prefers targets in the same worker, so that traffic would depend on
        # the placement that is to be compared.
        "topology.disable.loadaware.messaging": True,
        # A spout asks its subprocess "next?" after each pause; at Storm's 1 ms sixteen idle
        # sources would keep a core busy with questions.
        "topology.sleep.spout.wait.strategy.time.ms": 10,
        "topology.max.spout.pending": 100,
        "topology.message.timeout.secs": 30,
        # Dozens of Python processes that start at once on few cores are slow, not dead.
        "topology.subprocess.timeout.secs": 120,
        "topology.builtin.metrics.bucket.size.secs": 10,
    }
