"""A scheduler of the user's own: a command that reads a problem and writes a placement."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from stormcut.adapters.files.placement_file import read_placement
from stormcut.adapters.files.problem_file import write_problem
from stormcut.model.errors import Infeasible, InvalidInput
from stormcut.model.problem import Problem
from stormcut.placement.registry import ALGORITHMS
from stormcut.placement.solve import Solution, judged

#: Seconds that a command has for a placement; the slowest of stormcut's own, `exact`, has 60.
PATIENCE_S = 600.0


@dataclass(frozen=True)
class SchedulerCommand:
    """Places by ``COMMAND PROBLEM --seed N --output PLACEMENT``, as `stormcut place` is called.

    Both files are of the formats that docs/problem-format.md states. The command gets measured
    traffic and all capacities.

    Parameters
    ----------
    name : str
    command : tuple of str
        The program and its first arguments.
    """

    name: str
    command: tuple[str, ...]
    knows_capacity: bool = True
    by_declaration: bool = False

    def ignores(self, problem: Problem) -> list[str]:
        """Return nothing: what it counts is not known."""
        return []

    @classmethod
    def parse(cls, text: str) -> SchedulerCommand:
        """Return the command of a text such as ``mine=python mine.py``.

        Raises
        ------
        InvalidInput
            It has another form, an algorithm of stormcut has the name, or there is no such program.
        """
        name, equals, line = (part.strip() for part in text.partition("="))
        if not name or not equals or any(mark in name for mark in ",:+ "):
            raise InvalidInput(f"must be NAME=COMMAND, not {text!r}", "--command")
        if name in ALGORITHMS:
            raise InvalidInput(f"{name} is an algorithm of stormcut's", "--command")
        try:
            command = tuple(shlex.split(line))
        except ValueError as error:
            raise InvalidInput(f"{line!r} is not valid: {error}", "--command") from None
        if not command or shutil.which(command[0]) is None:
            raise InvalidInput(f"no program {line.split(' ')[0]!r} can be run", "--command")
        return cls(name, command)

    def solve(self, problem: Problem, seed: int) -> Solution:
        """Return what the command finds, verified.

        Raises
        ------
        Infeasible
            It fails, takes longer than `PATIENCE_S`, or what it writes is no feasible placement.
        """
        with tempfile.TemporaryDirectory(prefix="stormcut-") as folder:
            question, answer = Path(folder, "problem.json"), Path(folder, "placement.json")
            write_problem(question, problem)
            self._call([str(question), "--seed", str(seed), "--output", str(answer)])
            try:
                answered = read_placement(answer, problem)
            except InvalidInput as error:
                raise Infeasible(f"{self.name} wrote no placement: {error}", "command") from None
        options = {"seed": seed, "command": shlex.join(self.command)}
        return judged(answered.problem, self.name, options, answered.placement)

    def _call(self, arguments: list[str]) -> None:
        try:
            done = subprocess.run(
                [*self.command, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=PATIENCE_S,
            )
        except subprocess.TimeoutExpired:
            raise Infeasible(f"{self.name} took over {PATIENCE_S:g} s", "command") from None
        except OSError as error:
            raise Infeasible(f"{self.name} cannot be run: {error.strerror}", "command") from None
        if done.returncode != 0:
            said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
            raise Infeasible(
                f"{self.name} ended with exit code {done.returncode} and said: {said}", "command"
            )

    def __str__(self) -> str:
        """Return its name."""
        return self.name
