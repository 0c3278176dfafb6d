"""The settings of the micro-benchmarks: what binds them, and their further options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rig.options import Option, Options, choice, command_line, count, declare, number, share

#: Defaults of common options per setting; each can be overridden.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "cpu": {"payload": 100, "cpu.ms": 2.0},
    "network": {"payload": 10_000},
    "io": {"rate": 200, "payload": 100, "io.bytes": 4096},
}

OWN: Mapping[str, Option] = {
    "setting": Option(
        "network", choice(*SETTINGS), "what binds: sets rate, payload, cpu.ms and io.bytes"
    ),
    "language": Option(
        "python", choice("python", "java"), "java: for rates that Python cannot reach"
    ),
    "grouping": Option(
        "shuffle",
        choice("shuffle", "local_or_shuffle", "fields"),
        "fields: by key, so that local.share counts",
    ),
    "keys": Option(8, count, "distinct keys; as many as a component has tasks"),
    "local.share": Option(0.5, share, "share of tuples whose key stays the same at the next hop"),
    "shift.seconds": Option(
        0.0, number, "after so many seconds a key that stays leads to the next odd one; 0: never"
    ),
    "shift.period": Option(
        0.0, number, "so long after each shift comes another, to even and odd in turns; 0: none"
    ),
}


def micro(
    own: Mapping[str, Option] | None = None, given: Mapping[str, Any] | None = None
) -> Options:
    """Return a micro-benchmark's options, with the defaults of the chosen setting."""
    given = command_line() if given is None else given
    setting = SETTINGS.get(given.get("setting", "network"), {})
    return declare(setting, {**OWN, **(own or {})}, given=given)
