"""Sales, clicks and reviews by category (Bframework, after BigBench; a star query)."""

from typing import ClassVar

from streamparse import Grouping, Topology

from retail.sources import Clicks, Reviews, Sales
from retail.star import Catalogue, Interest, Rating, Revenue
from rig.options import declare

OPTIONS = declare()
TASKS = OPTIONS.tasks(4)
BY_CATEGORY = Grouping.fields("category")


@OPTIONS.with_parallelism
class BigBenchStar(Topology):
    """{Sales, Clicks, Reviews} -> Catalogue -> {Revenue, Interest, Rating}."""

    sales = Sales.spec(par=TASKS)
    clicks = Clicks.spec(par=TASKS)
    reviews = Reviews.spec(par=TASKS)
    catalogue = Catalogue.spec(
        inputs=dict.fromkeys((sales, clicks, reviews), Grouping.SHUFFLE), par=TASKS
    )
    revenue = Revenue.spec(inputs={catalogue: BY_CATEGORY}, par=TASKS)
    interest = Interest.spec(inputs={catalogue: BY_CATEGORY}, par=TASKS)
    rating = Rating.spec(inputs={catalogue: BY_CATEGORY}, par=TASKS)

    config: ClassVar = OPTIONS.config()
