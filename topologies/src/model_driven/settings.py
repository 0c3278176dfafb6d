"""Options of the model-driven topologies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rig.options import REDIS, Option, Options, choice, count, declare, number
from rig.store import address

OWN: Mapping[str, Option] = {
    "language": Option(
        "python", choice("python", "java"), "java: for many threads; Python starts a process each"
    ),
    "steered": Option(
        "no", choice("no", "yes"), "yes: the file rate beside the reports sets the rate (Java)"
    ),
    "redis": REDIS,
    "blobs": Option("127.0.0.1:8099", address, "host:port of the server of objects"),
    "xml.orders": Option(20, count, "orders in a document that is parsed"),
    "pi.repeats": Option(20, count, "times that pi is computed for a tuple"),
    "file.batch": Option(10_000, count, "lines of 100 bytes that are written at a time"),
    "blob.bytes": Option(20_000, count, "bytes of an object"),
    "blob.delay.ms": Option(0.0, number, "time that the server takes for an object"),
    "blob.per.second": Option(0.0, number, "most objects/s for each worker; 0: no limit"),
    "table.rows": Option(20_000, count, "rows of 20 columns and 200 bytes in the table"),
    "table.delay.ms": Option(0.0, number, "time that a query takes, Redis's own not counted"),
}


def model_driven(tasks: Iterable[str], further: Mapping[str, Option] | None = None) -> Options:
    """Return the options of a topology with these tasks."""
    threads = {f"threads.{task}": Option(1, count, f"threads of task {task}") for task in tasks}
    return declare(own={**OWN, **threads, **(further or {})})
