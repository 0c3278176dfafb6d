"""A Redis server for the topologies that need one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager

from stormcut.application.experiment.definition import Definition
from stormcut.application.experiment.ports import Progress


@contextmanager
def with_store(
    definition: Definition,
    options: Mapping[str, object],
    server: Callable[[], AbstractContextManager[str]],
    progress: Progress,
) -> Iterator[dict[str, object]]:
    """Yield a topology's options; if it needs a server and has none, with one of this block."""
    if "redis" not in definition.options or "redis" in options:
        yield dict(options)
        return
    with ExitStack() as stack:
        with progress.step("starting a Redis server"):
            address = stack.enter_context(server())
        yield {**options, "redis": address}
