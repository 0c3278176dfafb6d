"""The hashtags that most tweets hold (StroMAX, Twitter trending topics)."""

from typing import ClassVar

from streamparse import Grouping, Topology

from rig.options import Option, count, declare
from tweets.source import Tweets
from tweets.trending import Merge, Prepare, Rank

OPTIONS = declare(
    own={"k": Option(10, count, "length of the rankings")}, data="tweets/fight-night.jsonl.gz"
)


@OPTIONS.with_parallelism
class TrendingTopics(Topology):
    """Source -> Prepare -> Rank -> Merge."""

    source = Tweets.spec(par=OPTIONS.tasks(3))
    prepare = Prepare.spec(inputs={source: Grouping.SHUFFLE}, par=OPTIONS.tasks(10))
    rank = Rank.spec(inputs={prepare: Grouping.fields("letter")}, par=OPTIONS.tasks(10))
    # Global: one of its tasks does all the work, as there is one list.
    merge = Merge.spec(inputs={rank: Grouping.GLOBAL}, par=OPTIONS.tasks(10))

    config: ClassVar = OPTIONS.config()
