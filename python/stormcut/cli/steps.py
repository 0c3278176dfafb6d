"""Live steps for people who wait: a spinner with seconds on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import click
from rich.console import Console

Update = Callable[[str], None]

#: From when on a step is announced where there is no terminal.
LONG_SECONDS = 2.0


@contextmanager
def waiting(console: Console, title: str) -> Iterator[Update]:
    """Show what takes time: live on a terminal, elsewhere as a line once it takes long.

    The yielded function adds a detail to it on a terminal. Nothing else is printed, so that an
    error stays the only line on standard error.
    """
    if console.is_terminal:
        with console.status(title) as status:
            yield lambda detail: status.update(f"{title} [dim]{detail}[/dim]")
        return
    line = threading.Timer(LONG_SECONDS, click.echo, (f"stormcut: {title} ...",), {"err": True})
    line.daemon = True
    line.start()
    try:
        yield lambda detail: None
    finally:
        line.cancel()


class Steps:
    """Shows what a long command does, on standard error.

    Parameters
    ----------
    command : str
        Name that plain lines start with.
    """

    def __init__(self, command: str) -> None:
        self._command = command
        self._console = Console(stderr=True, highlight=False)

    @contextmanager
    def step(self, title: str) -> Iterator[Update]:
        """Show ``title`` while the body runs; the yielded function adds a detail to it."""
        start = time.monotonic()
        if not self._console.is_terminal:
            self._console.print(f"{self._command}: {title} ...", soft_wrap=True)
            yield lambda detail: None
        else:
            with self._console.status(title) as status:
                yield lambda detail: status.update(f"{title} [dim]{detail}[/dim]")
        took = time.monotonic() - start
        mark = "[green]✓[/green] " if self._console.is_terminal else f"{self._command}: "
        self._console.print(f"{mark}{title} [dim]({took:.0f} s)[/dim]", soft_wrap=True)

    def turn(self, title: str) -> AbstractContextManager[object]:
        """Show ``title`` on a terminal while the body runs, for what is then told by `say`."""
        return self._console.status(title) if self._console.is_terminal else nullcontext()

    def say(self, line: str) -> None:
        """Print one line beside the steps."""
        self._console.print(line, soft_wrap=True, markup=False)
