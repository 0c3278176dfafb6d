"""Where stormcut's nodes are in ZooKeeper."""

from __future__ import annotations

from stormcut.model.errors import InvalidInput

DEFAULT_ROOT = "/stormcut"


def check_root(root: str) -> None:
    """Refuse what is no path of a node.

    Raises
    ------
    InvalidInput
        It is not absolute, or has an empty part.
    """
    if not root.startswith("/") or root.endswith("/") or "//" in root:
        raise InvalidInput("must be an absolute path such as /stormcut", root or "''")
