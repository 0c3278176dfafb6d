"""Servers for the topologies that need them: Redis, and one of objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager

from stormcut.lab.experiment.definition import Definition
from stormcut.lab.experiment.ports import Progress, Servers


@contextmanager
def with_servers(
    definition: Definition, options: Mapping[str, object], servers: Servers, progress: Progress
) -> Iterator[dict[str, object]]:
    """Yield a topology's options; servers that it needs and has not, run as long as the block."""
    with ExitStack() as stack:
        started = {}
        for option, server in servers.items():
            if option in definition.options and option not in options:
                with progress.step(f"starting a server for {option}"):
                    started[option] = stack.enter_context(server())
        yield {**options, **started}
