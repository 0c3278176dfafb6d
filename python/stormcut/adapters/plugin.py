"""Putting stormcut's plugin into a Storm home, and taking it out again without a trace."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
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

_AUTH_KEY = "stormcut.zookeeper.auth.file"

_HOOK, _SCHEDULER = "stormcut-hook-*.jar", "stormcut-scheduler-*.jar"


@dataclass(frozen=True)
class Removed:
    """What was taken out of a Storm home, in a few words each, and jars of the hook left there.

    ``nimbus`` tells whether Nimbus runs with what is gone now.
    """

    taken: tuple[str, ...]
    left: tuple[str, ...]
    nimbus: bool


def clashes(keys: Iterable[str]) -> list[str]:
    """Return those of a storm.yaml's keys that the plugin sets itself."""
    return [key for key in keys if key in KEYS or key == _AUTH_KEY]


def check(storm_home: Path, auth_file: str | None) -> None:
    """Refuse what `install` would refuse; nothing is written.

    Raises
    ------
    InvalidInput
        It is no Storm home, or its storm.yaml sets one of the keys to something else.
    """
    config = _storm_yaml(storm_home)
    text = _read(config)
    if auth_file is not None:
        _check_free(_BLOCK.sub("", text), config)


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
        As `check`, or something cannot be written.
    """
    check(storm_home, auth_file)
    _put(jars.hook, storm_home / "extlib", _HOOK)
    if auth_file is not None:
        # Keys last: a Nimbus that is told to load a scheduler without a jar does not start.
        _put(jars.scheduler, storm_home / "extlib-daemon", _SCHEDULER)
        config = _storm_yaml(storm_home)
        without = _BLOCK.sub("", _read(config))
        _write(config, _with_block(without, {**KEYS, _AUTH_KEY: auth_file}))


def remove(storm_home: Path, hook: bool) -> Removed:
    """Take the plugin out.

    Parameters
    ----------
    hook : bool
        Also the hook's jar. Workers of a topology that was submitted with the hook do not start
        without it.

    Raises
    ------
    InvalidInput
        It is no Storm home, or something cannot be written.
    """
    config = _storm_yaml(storm_home)
    text = _read(config)
    taken = []
    has_keys = bool(_BLOCK.search(text))
    if has_keys:
        _write(config, _BLOCK.sub("", text))
        taken.append("the keys in conf/storm.yaml")
    schedulers = sorted((storm_home / "extlib-daemon").glob(_SCHEDULER))
    hooks = sorted((storm_home / "extlib").glob(_HOOK))
    for jar in (*schedulers, *(hooks if hook else ())):
        try:
            jar.unlink()
        except OSError as error:
            raise InvalidInput(f"cannot be removed: {error.strerror}", str(jar)) from error
        taken.append(str(jar.relative_to(storm_home)))
    left = () if hook else tuple(str(jar.relative_to(storm_home)) for jar in hooks)
    return Removed(tuple(taken), left, bool(schedulers) or has_keys)


def _storm_yaml(storm_home: Path) -> Path:
    config = storm_home / "conf" / "storm.yaml"
    if not config.is_file():
        raise InvalidInput("holds no conf/storm.yaml, so it is no Storm home", str(storm_home))
    return config


def _read(config: Path) -> str:
    try:
        return config.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", str(config)) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"is not UTF-8 at byte {error.start}", str(config)) from error


def _check_free(text: str, config: Path) -> None:
    try:
        present = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark else ""
        raise InvalidInput(f"is not YAML{place}: mend it first", str(config)) from error
    if not isinstance(present, dict):
        raise InvalidInput("holds no KEY: VALUE lines: mend it first", str(config))
    if taken := clashes(present):
        raise InvalidInput(f"sets {', '.join(taken)} already: take that out first", str(config))


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
    place = folder / jar.name
    # Beside its place first: a JVM may have a jar of this name open. Not a name in `folder/*.jar`.
    new = place.with_suffix(".new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(jar, new)
        new.replace(place)
        for old in folder.glob(pattern):
            if old != place:
                old.unlink()
    except OSError as error:
        raise InvalidInput(f"cannot be written: {error.strerror}", str(folder)) from error
