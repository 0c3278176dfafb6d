"""Items that customers look at together (Bframework, after BigBench; a linear query)."""

from typing import ClassVar

from streamparse import Grouping, Topology

from retail.linear import Pairs, Sessions, Views
from retail.sources import Clicks
from rig.options import Option, count, declare

OPTIONS = declare(own={"session.seconds": Option(3600, count, "length of a session")})
TASKS = OPTIONS.tasks(4)


@OPTIONS.with_parallelism
class BigBenchLinear(Topology):
    """Clicks -> Views -> Sessions -> Pairs."""

    clicks = Clicks.spec(par=TASKS)
    views = Views.spec(inputs={clicks: Grouping.SHUFFLE}, par=TASKS)
    sessions = Sessions.spec(inputs={views: Grouping.fields("customer")}, par=TASKS)
    pairs = Pairs.spec(inputs={sessions: Grouping.fields("pair")}, par=TASKS)

    config: ClassVar = OPTIONS.config()
