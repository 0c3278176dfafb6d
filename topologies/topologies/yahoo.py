"""Views of advertisements, counted per campaign (Bframework; Yahoo's benchmark, with Redis)."""

from typing import ClassVar

from streamparse import Grouping, Topology

from ads.components import Count, Deserialize, Filter, Join, Project, Source
from rig.options import REDIS, Option, count, declare

OPTIONS = declare(
    own={
        "redis": REDIS,
        "events.per.second": Option(100, count, "events in a second of event time"),
        "window.seconds": Option(10, count, "length of a window of event time"),
    }
)
TASKS = OPTIONS.tasks(4)


@OPTIONS.with_parallelism
class Yahoo(Topology):
    """Source -> Deserialize -> Filter -> Project -> Join -> Count."""

    source = Source.spec(par=TASKS)
    deserialize = Deserialize.spec(inputs={source: Grouping.SHUFFLE}, par=TASKS)
    filter = Filter.spec(inputs={deserialize: Grouping.SHUFFLE}, par=TASKS)
    project = Project.spec(inputs={filter: Grouping.SHUFFLE}, par=TASKS)
    join = Join.spec(inputs={project: Grouping.SHUFFLE}, par=TASKS)
    count = Count.spec(inputs={join: Grouping.fields("campaign_id")}, par=TASKS)

    config: ClassVar = OPTIONS.config()
