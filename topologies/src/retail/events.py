"""Made-up events of a shop: BigBench's generator may not be passed on.

Items follow Zipf's law: item i is drawn with a weight of 1 / (i + 1). Customers, channels, years,
kinds of clicks, quantities (1 to 5), prices (1 to 100) and ratings (1 to 5) are each drawn alike
from all there are. An event is a function of its number alone.
"""

from __future__ import annotations

import random
from itertools import accumulate

from rig.records import Generated

ITEMS = 100
CATEGORIES = 10
CUSTOMERS = 200
CHANNELS = ("store", "web")
YEARS = (2001, 2002)
CLICKS = ("view", "cart", "buy")
#: Events of each kind in one replay.
RECORDS = 10_000
#: Seconds between two events.
GAP_S = 3

_WEIGHTS = list(accumulate(1 / (item + 1) for item in range(ITEMS)))


def _item(draw: random.Random) -> int:
    (item,) = draw.choices(range(ITEMS), cum_weights=_WEIGHTS)
    return item


def sale(number: int) -> str:
    """Return a sale `customer,item,channel,year,quantity,price`."""
    draw = random.Random(10_000_000 + number)
    return (
        f"{draw.randrange(CUSTOMERS)},{_item(draw)},{draw.choice(CHANNELS)},{draw.choice(YEARS)},"
        f"{draw.randint(1, 5)},{draw.randint(1, 100)}"
    )


def click(number: int) -> str:
    """Return a click `customer,item,kind,second`."""
    draw = random.Random(20_000_000 + number)
    customer, item, kind = draw.randrange(CUSTOMERS), _item(draw), draw.choice(CLICKS)
    return f"{customer},{item},{kind},{number * GAP_S}"


def review(number: int) -> str:
    """Return a review `item,rating`."""
    draw = random.Random(30_000_000 + number)
    return f"{_item(draw)},{draw.randint(1, 5)}"


def sales() -> Generated:
    """Return the sales."""
    return Generated(sale, RECORDS)


def clicks() -> Generated:
    """Return the clicks."""
    return Generated(click, RECORDS)


def reviews() -> Generated:
    """Return the reviews."""
    return Generated(review, RECORDS)
