"""Who gives an order, as the machine knows it: for people to read, no proof."""

from __future__ import annotations

import getpass
import socket


def person() -> str:
    """Return ``user@host``; a user without a name is ``somebody``."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # no such user in the password database
        user = "somebody"
    return f"{user}@{socket.gethostname()}"
