"""The errors stormcut raises on purpose; everything else is a bug."""

from __future__ import annotations


class StormcutError(Exception):
    """Base of all errors meant for the user; its text is one clear line."""


class InvalidInput(StormcutError):
    """Something given to stormcut cannot be used: what, where, and what to do.

    Parameters
    ----------
    what : str
        What is wrong, and what would be right.
    where : str
        The place in the input, such as ``topologies[0].components[1].executors``, or a file.
    """

    def __init__(self, what: str, where: str = "") -> None:
        self.what = what
        self.where = where
        super().__init__(_line(f"{where}: {what}" if where else what))


class Infeasible(StormcutError):
    """No feasible placement exists, or the algorithm found none.

    Parameters
    ----------
    message : str
        Which of the two, and why.
    constraint : str
        The binding constraint: ``slots``, ``cpu``, ``memory``, ``max_executors``, ``traffic``...
    """

    def __init__(self, message: str, constraint: str) -> None:
        self.constraint = constraint
        super().__init__(f"{message} (binding constraint: {constraint})")


def _line(text: str) -> str:
    """Return a text as one line: some of it may be foreign, such as a key or a brain's reason."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
