"""The classes that Spark loads, in one file that a JVM maps: half the time of a short run.

``python -m`` this module writes it, from a run over a few lines. A JVM of another release, or
other jars, takes no notice of it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from stormcut.adapters.machine.home import home
from stormcut.adapters.spark.profiling import profile_logs
from stormcut.adapters.spark.session import CLASS_ARCHIVE, spark_session

_HOOK = (
    '{"v":1,"task":1,"component":"words","executor":[1,1],"ms":10000,"to":{"1":[9,1,20]},"local":9,'
    '"executed":9,"acked":9,"failed":0,"complete_ms":[1.0,1],"cpu_ms":5.0}'
)
#: One of each kind, and one that is none.
_LINES = (
    f"2026-01-01 00:00:10,000 100 1700000010\thost:6700\t1:words\tstormcut\t{_HOOK}",
    "2026-01-01 00:00:10,000 100 1700000010\thost:6700\t1:words\t__ack-count\t{default=9}",
    "2026-01-01 00:00:10,000 100 1700000010\thost:6700\t-1:__system\tstartTimeSecs\t1.7E9",
    "none",
)


def write() -> None:
    """Write the archive; takes half a minute."""
    target = home() / CLASS_ARCHIVE
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        log = Path(folder) / "workers-artifacts" / "words-1-1" / "6700" / "worker.log.metrics"
        log.parent.mkdir(parents=True)
        log.write_text("".join(f"{line}\n" for line in _LINES), encoding="utf-8")
        archive = Path(folder) / target.name
        with spark_session("local[2]", record=archive):
            profile_logs([Path(folder)], Path(folder) / "out", warm_up=0, with_tables=True)
        if archive.exists():
            archive.replace(target)
        else:
            print("this Java writes no archive of classes: Spark will start more slowly")


if __name__ == "__main__":
    write()
