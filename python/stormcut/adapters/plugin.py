"""Putting stormcut's plugin into a Storm home, and taking it out again without a trace."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import yaml

from stormcut.adapters.home import PluginJars
from stormcut.model.errors import InvalidInput

#: Keys of Nimbus's storm.yaml. Those of topologies measure; whatever is submitted from then on
#: carries them.
KEYS: dict[str, object] = {
    "storm.scheduler": "io.stormcut.StormcutScheduler",
    "topology.auto.task.hooks": ["io.stormcut.StormcutHook"],
    "topology.multilang.serializer": "io.stormcut.StormcutSerializer",
    "topology.metrics.consumer.register": [
        {"class": "org.apache.storm.metric.LoggingMetricsConsumer", "parallelism.hint": 1}
    ],
}

_BEGIN = "# begin stormcut: `stormcut plugin remove` takes these lines out\n"
_END = "# end stormcut\n"
_BLOCK = re.compile(f"{re.escape(_BEGIN)}.*?{re.escape(_END)}", re.DOTALL)

_HOOK, _SCHEDULER = "stormcut-hook-*.jar", "stormcut-scheduler-*.jar"


def install(storm_home: Path, jars: PluginJars, auth_file: str | None) -> None:
    """Install the plugin, in place of any version of it that is there.

    Parameters
    ----------
    storm_home : Path
        With ``conf/storm.yaml``; ``extlib`` and ``extlib-daemon`` are made if missing.
    auth_file : str or None
        On Nimbus's machine, the file with ``user:password`` as Nimbus sees it: Nimbus also gets
        the scheduler and its keys. None for a supervisor, which needs only the hook.

    Raises
    ------
    InvalidInput
        It is no Storm home, or its storm.yaml sets one of the keys to something else.
    """
    config = _storm_yaml(storm_home)
    without = _BLOCK.sub("", config.read_text(encoding="utf-8"))
    if auth_file is not None:
        keys = {**KEYS, "stormcut.zookeeper.auth.file": auth_file}
        _check_free(without, keys, config)
        _write(config, _with_block(without, keys))
        _put(jars.scheduler, storm_home / "extlib-daemon", _SCHEDULER)
    _put(jars.hook, storm_home / "extlib", _HOOK)


def remove(storm_home: Path, hook: bool) -> list[str]:
    """Take the plugin out; return what was there, in a few words each.

    Parameters
    ----------
    hook : bool
        Also the hook's jar. Workers of a topology that was submitted with the hook do not start
        without it.

    Raises
    ------
    InvalidInput
        It is no Storm home.
    """
    config = _storm_yaml(storm_home)
    text = config.read_text(encoding="utf-8")
    found = []
    if _BLOCK.search(text):
        _write(config, _BLOCK.sub("", text))
        found.append(f"keys in {config}")
    for jar in _jars(storm_home, hook):
        jar.unlink()
        found.append(str(jar))
    return found


def _jars(storm_home: Path, hook: bool) -> Iterator[Path]:
    yield from (storm_home / "extlib-daemon").glob(_SCHEDULER)
    if hook:
        yield from (storm_home / "extlib").glob(_HOOK)


def _storm_yaml(storm_home: Path) -> Path:
    config = storm_home / "conf" / "storm.yaml"
    if not config.is_file():
        raise InvalidInput("holds no conf/storm.yaml, so it is no Storm home", str(storm_home))
    return config


def _check_free(text: str, keys: dict[str, object], config: Path) -> None:
    try:
        present = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise InvalidInput(f"is not YAML: {error}", str(config)) from error
    clashes = [key for key in keys if key in present]
    if clashes:
        raise InvalidInput(f"sets {', '.join(clashes)} already: take that out first", str(config))


def _with_block(text: str, keys: dict[str, object]) -> str:
    # A last line without its end would run into the block, and could not be told apart later.
    break_ = "" if text.endswith("\n") or not text else "\n"
    return f"{text}{break_}{_BEGIN}{yaml.safe_dump(keys, sort_keys=False)}{_END}"


def _write(config: Path, text: str) -> None:
    # In place: the file keeps its owner and mode.
    try:
        config.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot be written: {error.strerror}", str(config)) from error


def _put(jar: Path, folder: Path, pattern: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(pattern):
        old.unlink()
    shutil.copy(jar, folder / jar.name)
