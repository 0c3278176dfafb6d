"""Made-up events: no real ones may be passed on.

Users, pages, advertisements, their kinds and what was done with them are each drawn alike from
all there are. Events come at equal distances; an event is a function of its number alone.
"""

from __future__ import annotations

import json
import random

from rig.records import Generated

CAMPAIGNS = 100
ADS_PER_CAMPAIGN = 10
USERS = 100
PAGES = 100
AD_KINDS = ("banner", "modal", "sponsored-search", "mail", "mobile")
EVENT_KINDS = ("view", "click", "purchase")
#: Events in one replay.
RECORDS = 20_000
SEED = 7_000_000


def campaign_of(ad: int) -> str:
    """Return the campaign that an advertisement belongs to."""
    return f"campaign-{ad // ADS_PER_CAMPAIGN}"


def campaigns() -> dict[str, str]:
    """Return the campaign of each advertisement."""
    return {f"ad-{ad}": campaign_of(ad) for ad in range(CAMPAIGNS * ADS_PER_CAMPAIGN)}


def events(per_second: int) -> Generated:
    """Return events as JSON texts, so many in a second of event time."""

    def record(number: int) -> str:
        draw = random.Random(SEED + number)
        return json.dumps(
            {
                "user_id": f"user-{draw.randrange(USERS)}",
                "page_id": f"page-{draw.randrange(PAGES)}",
                "ad_id": f"ad-{draw.randrange(CAMPAIGNS * ADS_PER_CAMPAIGN)}",
                "ad_type": draw.choice(AD_KINDS),
                "event_type": draw.choice(EVENT_KINDS),
                "event_time": number * 1000 // per_second,
                "ip_address": "192.0.2.1",
            }
        )

    return Generated(record, RECORDS)
