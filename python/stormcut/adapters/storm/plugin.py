"""Putting stormcut's plugin into a Storm home, and taking it out again without a trace."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import yaml

from stormcut.adapters.machine.home import PluginJars
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

#: The scheduler that a cluster had: it decides wherever no plan does, and comes back.
_SCHEDULER_KEY, _FALLBACK_KEY = "storm.scheduler", "stormcut.fallback.scheduler"
_KEPT = "# kept by stormcut: "
_KEPT_LINE = re.compile(f"^{re.escape(_KEPT)}", re.MULTILINE)
#: Keys whose lists keep what is there.
_LISTS = ("topology.auto.task.hooks", "topology.metrics.consumer.register")

#: In the name of every class of the plugin.
OURS = "io.stormcut."
#: Keys by which Storm does not start without the jar of the scheduler, or of the hook.
_NEEDS_SCHEDULER = ("storm.scheduler",)
_NEEDS_HOOK = (
    "topology.auto.task.hooks",
    "topology.multilang.serializer",
    "topology.metrics.consumer.register",
)

#: In the folder ``nimbus`` of ``storm.local.dir``: what plans have put.
APPLIED_FILE = "stormcut-applied.json"

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
        It is no Storm home, or its storm.yaml sets one of the keys outside the marked block or is
        of a form that the block cannot follow.
    """
    config = _storm_yaml(storm_home)
    text = _read(config)
    if auth_file is not None:
        _added(text, auth_file, config)


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
        _write(config, _added(_read(config), auth_file, config))


def check_removal(storm_home: Path, hook: bool) -> None:
    """Refuse what `remove` would refuse; nothing is written.

    Raises
    ------
    InvalidInput
        It is no Storm home, or its storm.yaml names what would be gone outside the marked block:
        Nimbus would not start.
    """
    config = _storm_yaml(storm_home)
    present = _keys(_without(_read(config)), config)
    needed = [*_NEEDS_SCHEDULER, *(_NEEDS_HOOK if hook else ())]
    if still := [key for key in needed if OURS in str(present.get(key))]:
        raise InvalidInput(
            f"still sets {', '.join(still)} outside the marked block: take that out first",
            str(config),
        )


def nimbuses(storm_home: Path) -> tuple[tuple[str, int], ...]:
    """Return host and port of each Nimbus that a Storm home's storm.yaml names."""
    config = _storm_yaml(storm_home)
    keys = _keys(_read(config), config)
    seeds, port = keys.get("nimbus.seeds", ["localhost"]), keys.get("nimbus.thrift.port", 6627)
    if not isinstance(seeds, list) or not isinstance(port, int):
        raise InvalidInput("nimbus.seeds is no list, or nimbus.thrift.port no number", str(config))
    return tuple((str(seed), port) for seed in seeds)


def carries_hook(conf: Mapping[str, object]) -> bool:
    """Return whether a topology of this configuration does not start without the hook's jar."""
    return any(OURS in str(conf.get(key)) for key in _NEEDS_HOOK)


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
        As `check_removal`, or something cannot be written.
    """
    check_removal(storm_home, hook)
    config = _storm_yaml(storm_home)
    text = _read(config)
    taken = []
    has_keys = bool(_BLOCK.search(text))
    if has_keys:
        _write(config, _without(text))
        taken.append("the keys in conf/storm.yaml")
    schedulers = sorted((storm_home / "extlib-daemon").glob(_SCHEDULER))
    hooks = sorted((storm_home / "extlib").glob(_HOOK))
    for file in (*schedulers, *(hooks if hook else ()), *_applied(text, storm_home, config)):
        try:
            file.unlink()
        except OSError as error:
            raise InvalidInput(f"cannot be removed: {error.strerror}", str(file)) from error
        inside = file.is_relative_to(storm_home)
        taken.append(str(file.relative_to(storm_home) if inside else file))
    left = () if hook else tuple(str(jar.relative_to(storm_home)) for jar in hooks)
    return Removed(tuple(taken), left, bool(schedulers) or has_keys)


def _applied(text: str, storm_home: Path, config: Path) -> list[Path]:
    """Return the file in which the scheduler keeps what plans have put, if it is there."""
    local = Path(str(_keys(text, config).get("storm.local.dir") or "storm-local"))
    file = storm_home / local / "nimbus" / APPLIED_FILE
    with suppress(OSError):  # a folder that only Storm's user may look into
        return [file] if file.is_file() else []
    return []


def _storm_yaml(storm_home: Path) -> Path:
    config = storm_home / "conf" / "storm.yaml"
    try:
        exists = config.is_file()
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", str(config)) from error
    if not exists:
        raise InvalidInput("holds no conf/storm.yaml, so it is no Storm home", str(storm_home))
    return config


def _read(config: Path) -> str:
    try:
        # Ends of lines stay as they are.
        with config.open(encoding="utf-8", newline="") as file:
            return file.read()
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", str(config)) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"is not UTF-8 at byte {error.start}", str(config)) from error


def _added(text: str, auth_file: str, config: Path) -> str:
    """Return storm.yaml with the block, or refuse if Storm could not read that as meant.

    Lines of a key that gets another value are kept as comments, and come back with `_without`.
    """
    without = _without(text)
    present = _keys(without, config)
    keys, replaced = _to_set(present, auth_file)
    if taken := clashes(key for key in present if key in keys and key not in replaced):
        raise InvalidInput(f"sets {', '.join(taken)} already: take that out first", str(config))
    kept, indent = _comment_out(without, replaced)
    # A last line without its end would run into the block, and could not be told apart later.
    break_ = "" if kept.endswith("\n") or not kept else "\n"
    lines = textwrap.indent(yaml.safe_dump(keys, sort_keys=False), " " * indent)
    added = f"{kept}{break_}{_BEGIN}{lines}{_END}"
    with suppress(yaml.YAMLError):
        if yaml.safe_load(added) == {**present, **keys}:
            return added
    what = "lines can only be added to KEY: VALUE lines, one below the other"
    raise InvalidInput(f"{what}: mend it first", str(config))


def _to_set(present: Mapping[str, object], auth_file: str) -> tuple[dict[str, object], set[str]]:
    """Return what the block has to set, and which keys it sets in place of what is there.

    Lists of hooks and of metrics consumers keep what they have; another scheduler decides wherever
    no plan does.
    """
    keys: dict[str, object] = {**KEYS, _AUTH_KEY: auth_file}
    replaced = set()
    before = present.get(_SCHEDULER_KEY)
    if isinstance(before, str) and OURS not in before:
        keys[_FALLBACK_KEY] = present.get(_FALLBACK_KEY, before)
        replaced |= {_SCHEDULER_KEY} | ({_FALLBACK_KEY} & present.keys())
    for key in _LISTS:
        if not isinstance(there := present.get(key), list):
            continue
        more = [ours for ours in _list(KEYS[key]) if not any(_does(it, ours) for it in there)]
        if more:
            keys[key] = [*there, *more]
            replaced.add(key)
        else:
            del keys[key]
    return keys, replaced


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


def _does(it: object, ours: object) -> bool:
    """Return whether an entry does what one of the plugin's is for: a consumer, with any setting.

    Before Storm 1, its classes were called ``backtype``; the plugin's own consumer will do, too.
    """
    if not isinstance(it, Mapping) or not isinstance(ours, Mapping):
        return it == ours
    name = str(it.get("class"))
    return OURS in name or name.rpartition(".")[2] == str(ours["class"]).rpartition(".")[2]


def _comment_out(text: str, keys: Collection[str]) -> tuple[str, int]:
    """Return a text in which the lines of keys are comments, and how far all are indented."""
    root = yaml.compose(text)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    lines = text.splitlines(keepends=True)
    for key, value in pairs:
        if key.value not in keys:
            continue
        last = value.end_mark.line - (value.end_mark.column <= key.start_mark.column)
        while last > key.start_mark.line and not lines[last].split("#")[0].strip():
            last -= 1
        for index in range(key.start_mark.line, last + 1):
            lines[index] = _KEPT + lines[index]
    return "".join(lines), pairs[0][0].start_mark.column if pairs else 0


def _without(text: str) -> str:
    """Return storm.yaml as it was before the plugin was installed."""
    return _KEPT_LINE.sub("", _BLOCK.sub("", text))


def _keys(text: str, config: Path) -> dict[str, object]:
    try:
        present = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f" at line {mark.line + 1}" if mark else ""
        raise InvalidInput(f"is not YAML{place}: mend it first", str(config)) from error
    if not isinstance(present, dict):
        raise InvalidInput("holds no KEY: VALUE lines: mend it first", str(config))
    return present


def _write(config: Path, text: str) -> None:
    """Replace storm.yaml, or what it is a link to, as a whole; owner and mode stay."""
    place = config.resolve()
    new = place.with_name(f".{place.name}.stormcut")
    try:
        new.write_text(text, encoding="utf-8", newline="")
        shutil.copystat(place, new)
        owner = place.stat()
        os.chown(new, owner.st_uid, owner.st_gid)
        new.replace(place)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise InvalidInput(f"cannot be written: {error.strerror}", str(config)) from error


def _put(jar: Path, folder: Path, pattern: str) -> None:
    place = folder / jar.name
    # Beside its place first: a JVM may have a jar of this name open. Not a name in `folder/*.jar`.
    new = place.with_suffix(".new")
    try:
        if not folder.exists():
            folder.mkdir(parents=True)
            folder.chmod(0o755)
        shutil.copy(jar, new)
        # Storm's user need not be the one who built it, with whatever mask.
        new.chmod(0o644)
        new.replace(place)
        for old in folder.glob(pattern):
            if old != place:
                old.unlink()
    except OSError as error:
        raise InvalidInput(f"cannot be written: {error.strerror}", str(folder)) from error
