"""Random strings of 10 KB, passed on and counted (StroMAX)."""

from typing import ClassVar

from streamparse import Grouping, Topology

from rig.options import Option, count, declare
from words.random_text import Anchor, Identity, RandomText

OPTIONS = declare(own={"text.bytes": Option(10_240, count, "length of a string")})


@OPTIONS.with_parallelism
class ThroughputTest(Topology):
    """Source -> Identity -> Anchor."""

    source = RandomText.spec(par=OPTIONS.tasks(3))
    identity = Identity.spec(inputs={source: Grouping.SHUFFLE}, par=OPTIONS.tasks(10))
    anchor = Anchor.spec(inputs={identity: Grouping.SHUFFLE}, par=OPTIONS.tasks(10))

    config: ClassVar = OPTIONS.config()
