"""The `taxi.*` options of a submitted topology."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Options given as `sparse submit -o taxi.rate=400`.

    Attributes
    ----------
    rate : float
        Trips per second of all sources together; 0 means as fast as possible.
    window_minutes : int
        Length of the sliding window in minutes of event time.
    speedup : float
        Seconds of event time in a second of real time.
    replays : int
        How often the file is replayed; 0 means without end.

    References
    ----------
    Thesis, section 6.3.2: a window of 30 minutes, 600 times real time.
    """

    rate: float = 400.0
    window_minutes: int = 30
    speedup: float = 600.0
    replays: int = 0

    @classmethod
    def from_conf(cls, conf: Mapping[str, Any]) -> Settings:
        """Read the options from a topology's configuration.

        Raises
        ------
        ValueError
            If a `taxi.*` option is unknown or cannot be used.
        """
        settings = cls(
            rate=_number(conf, "taxi.rate", cls.rate),
            window_minutes=_whole(conf, "taxi.window.minutes", cls.window_minutes, least=1),
            speedup=_number(conf, "taxi.speedup", cls.speedup),
            replays=_whole(conf, "taxi.replays", cls.replays, least=0),
        )
        if not settings.speedup:
            raise ValueError("taxi.speedup: 0 must be above 0: event time has to go on")
        known = {"taxi.rate", "taxi.window.minutes", "taxi.speedup", "taxi.replays"}
        for key in conf:
            if key.startswith("taxi.") and key not in known:
                raise ValueError(f"{key}: no such option; there are {', '.join(sorted(known))}")
        return settings


def _number(conf: Mapping[str, Any], key: str, default: float) -> float:
    value = conf.get(key, default)
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    if not (usable and math.isfinite(value) and value >= 0):
        raise ValueError(f"{key}: {value!r} must be a number, 0 or more")
    return float(value)


def _whole(conf: Mapping[str, Any], key: str, default: int, *, least: int) -> int:
    value = conf.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ValueError(f"{key}: {value!r} must be a whole number, {least} or more")
    return value
