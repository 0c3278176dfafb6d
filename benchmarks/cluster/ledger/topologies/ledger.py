"""A topology that keeps books of every tuple (benchmarks/cluster/fault_ground.py reads them)."""

from typing import ClassVar

from books import Pass, Sink, Source
from streamparse import Grouping, Topology


class Ledger(Topology):
    """Source -> Pass -> Sink."""

    source = Source.spec(par=1)
    passing = Pass.spec(inputs={source: Grouping.SHUFFLE}, par=2)
    sink = Sink.spec(inputs={passing: Grouping.SHUFFLE}, par=1)

    config: ClassVar = {
        "topology.acker.executors": 1,
        "topology.max.spout.pending": 100,
        "topology.message.timeout.secs": 15,
        "topology.disable.loadaware.messaging": True,
    }
