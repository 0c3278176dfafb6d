"""The five papers by name; each takes a moment to import, so only those that are asked for are."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stormcut.lab.papers.figures import Paper

#: Each is a constant in a module of the same name in this package.
PAPER_NAMES = ("thesis", "pipeline-linear", "stromax", "bframework", "model-driven")


def find_paper(name: str) -> Paper:
    """Return one of `PAPER_NAMES` with its figures."""
    constant = name.replace("-", "_")
    module = import_module(f"stormcut.lab.papers.{constant}")
    paper: Paper = getattr(module, constant.upper())
    return paper
