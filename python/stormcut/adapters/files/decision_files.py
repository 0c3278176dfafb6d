"""Writes what an algorithm was asked and what it answered, so that it can be asked again."""

from __future__ import annotations

import logging
import time
from itertools import accumulate, count
from pathlib import Path
from urllib.parse import quote

from stormcut.adapters.files.placement_file import write_placement
from stormcut.adapters.files.problem_file import write_problem
from stormcut.model.errors import InvalidInput
from stormcut.model.problem import Problem
from stormcut.placement.solve import Solution

#: Of the topologies in a file's name: file systems take 255 in all.
MAX_LETTERS = 120

log = logging.getLogger(__name__)


class DecisionFiles:
    """`Recorder` into a folder: ``TIME-NUMBER-TOPOLOGIES.json``, and the answer beside it.

    ``stormcut place`` with the options that the answer's file states finds the same placement. What
    cannot be written is logged: a full disk is no reason to leave Nimbus without a plan.

    Raises
    ------
    InvalidInput
        There is no such folder, and it cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count(1)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InvalidInput(f"cannot be made: {error.strerror}", str(folder)) from None

    def record(self, problem: Problem, solution: Solution) -> None:
        """Write a problem and its solution."""
        topologies = _named([quote(topology.id, safe="") for topology in problem.topologies])
        moment = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        name = f"{moment}-{next(self._numbers):06}-{topologies}"
        try:
            write_problem(self._folder / f"{name}.json", problem)
            write_placement(self._folder / f"{name}.placement.json", problem, solution)
        except InvalidInput as error:
            log.warning("a decision is not recorded: %s", error)


def _named(topologies: list[str]) -> str:
    """Return topologies in a file's name: as many as it has room for, and how many more."""
    shown = [
        name
        for name, length in zip(topologies, accumulate(map(len, topologies)), strict=True)
        if length <= MAX_LETTERS
    ] or [topologies[0][:MAX_LETTERS]]
    more = len(topologies) - len(shown)
    return "+".join((*shown, f"{more}-more") if more else shown)
