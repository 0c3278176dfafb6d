"""stormcut's own topologies as their streamparse project declares them."""

from __future__ import annotations

import importlib
import socket
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from stormcut.adapters.machine.home import topologies
from stormcut.lab.experiment.definition import ComponentDefinition, Definition, OptionText
from stormcut.lab.experiment.loss import Hop
from stormcut.model.errors import InvalidInput

#: A Storm key, given as it is; all others are the topology's own.
STORM_PREFIXES = ("topology.", "storm.", "worker.", "pystorm.")
#: How long a server may take to answer a connection.
CONNECT_S = 2.0


def names() -> list[str]:
    """Return the names of all topologies."""
    return sorted(path.stem for path in (topologies() / "topologies").glob("[a-z]*.py"))


def load(name: str) -> Definition:
    """Return what a topology's module declares.

    Raises
    ------
    InvalidInput
        There is no such topology.
    """
    if name not in names():
        raise InvalidInput(f"no such topology; there are {', '.join(names())}", name)
    module = _module(name)
    options = {
        key: OptionText(option.default, option.help)
        for key, option in module.OPTIONS.declared.items()
    }
    specs = _topology(module).specs
    summary = (module.__doc__ or "").splitlines()[0]
    return Definition(name, summary, options, tuple(map(_component, specs)), tuple(_hops(specs)))


def check_options(name: str, given: Mapping[str, Any]) -> None:
    """Have a topology look at its own among the options before it is submitted with them.

    Raises
    ------
    InvalidInput
        There is no such topology, it has no such option, cannot use its value, or a Redis server
        that is named does not answer.
    """
    known = load(name).options
    prefix = _module("rig.options").PARALLELISM
    for key in given:
        if key not in known and not key.startswith((*STORM_PREFIXES, prefix)):
            raise InvalidInput(f"no such option; there are {', '.join(known)}", f"--option {key}")
    module = _module(name)
    try:
        own = {k: v for k, v in given.items() if k in known or k.startswith(prefix)}
        chosen = type(module.OPTIONS)(module.OPTIONS.declared, own)
        chosen.check_components(spec.name for spec in _topology(module).specs)
    except ValueError as error:
        option, _, why = str(error).removeprefix("rig.").partition(": ")
        raise InvalidInput(why, f"--option {option}") from error
    if "redis" in given:
        store = _module("rig.store")
        try:
            with store.Store(given["redis"]).client() as client:
                client.ping()
        except store.StoreDown as down:
            raise InvalidInput(str(down), "--option redis") from down
    if "blobs" in given:
        host, _, port = str(given["blobs"]).rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=CONNECT_S).close()
        except OSError as error:
            why = f"no server of objects answers there: {error.strerror or error}"
            raise InvalidInput(why, f"--option blobs={given['blobs']}") from error


def records(name: str, given: Mapping[str, Any]) -> Sequence[str]:
    """Return what a topology's first source replays, with some options given."""
    module = _module(name)
    values = {**module.OPTIONS, **given}
    conf = {f"rig.{key}": value for key, value in values.items()}
    spout = next(spec for spec in _topology(module).specs if not spec.inputs)
    lines: Sequence[str] = spout.component_cls.records(conf)
    return lines


def data_lines(name: str) -> list[str]:
    """Return the lines of an input file below the project's `src/data`."""
    lines: list[str] = _module("rig.records").lines(name)
    return lines


def _module(name: str) -> Any:
    project = topologies()
    with _importable(project / "src", project / "topologies"):
        return importlib.import_module(name)


@contextmanager
def _importable(*folders: Path) -> Iterator[None]:
    """Let modules of the project find each other, as streamparse does."""
    missing = [str(folder) for folder in folders if str(folder) not in sys.path]
    sys.path.extend(missing)
    with warnings.catch_warnings():
        # of streamparse's own imports
        warnings.simplefilter("ignore")
        yield


def _topology(module: Any) -> Any:
    from streamparse.dsl.topology import TopologyType

    return next(
        value
        for value in vars(module).values()
        if isinstance(value, TopologyType) and value.__name__ != "Topology"
    )


def _component(spec: Any) -> ComponentDefinition:
    inputs = ((stream.componentId, _text(grouping)) for stream, grouping in spec.inputs.items())
    return ComponentDefinition(spec.name, spec.par, tuple(inputs))


def _hops(specs: Sequence[Any]) -> Iterator[Hop]:
    for spec in specs:
        for stream, grouping in spec.inputs.items():
            copies = spec.par if _text(grouping) == "all" else 1
            yield Hop(stream.componentId, stream.streamId, spec.name, copies)


def _text(grouping: Any) -> str:
    if grouping.fields is not None:
        return f"fields({', '.join(grouping.fields)})" if grouping.fields else "global"
    kinds = ("shuffle", "all", "none", "direct", "local_or_shuffle")
    return next(kind for kind in kinds if getattr(grouping, kind) is not None)
