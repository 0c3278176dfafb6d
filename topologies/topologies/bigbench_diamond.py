"""Customers who moved from shops to the web (Bframework, after BigBench; a diamond query)."""

from typing import ClassVar

from streamparse import Grouping, Topology

from retail.diamond import Growth, Store, Top, Web
from retail.sources import Sales
from rig.options import declare

OPTIONS = declare()
TASKS = OPTIONS.tasks(4)
BY_CUSTOMER = Grouping.fields("customer")


@OPTIONS.with_parallelism
class BigBenchDiamond(Topology):
    """Sales -> {Store, Web} -> Growth -> Top."""

    sales = Sales.spec(par=TASKS)
    store = Store.spec(inputs={sales: Grouping.SHUFFLE}, par=TASKS)
    web = Web.spec(inputs={sales: Grouping.SHUFFLE}, par=TASKS)
    growth = Growth.spec(inputs={store: BY_CUSTOMER, web: BY_CUSTOMER}, par=TASKS)
    top = Top.spec(inputs={growth: Grouping.GLOBAL})

    config: ClassVar = OPTIONS.config()
