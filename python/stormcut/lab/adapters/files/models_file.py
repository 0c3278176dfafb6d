"""Writes performance models, and the trials that they come from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from stormcut.adapters.files.capacity_files import MODELS, read_models
from stormcut.adapters.files.json_document import write_text
from stormcut.lab.experiment.trials import RateTrial
from stormcut.model.errors import InvalidInput
from stormcut.placement.algorithms.model_driven.allocation import PerformanceModel

_FIELDS = tuple(field.name for field in fields(RateTrial))


def check_slot(path: Path, slot: Mapping[str, float]) -> None:
    """Refuse a file whose models are of another slot, or that is no file of models.

    Raises
    ------
    InvalidInput
        It is so.
    """
    if path.exists():
        read_models(path)
        stored = json.loads(path.read_text(encoding="utf-8")).get("slot")
        if stored != dict(slot):
            had, wanted = _format_slot(stored), _format_slot(slot)
            why = f"has models of a slot of {had}, not of {wanted}: name another file"
            raise InvalidInput(why, str(path))


def _format_slot(slot: Any) -> str:
    if not isinstance(slot, Mapping):
        return "unknown size"
    return f"{slot.get('cores'):g} cores and {slot.get('memory_mb'):g} MB"


def write_model(
    path: Path, name: str, model: PerformanceModel, slot: Mapping[str, float], taken_on: str
) -> None:
    """Add a task's model to a file, or replace it there."""
    document: dict[str, Any] = {"format": MODELS, "taken_on": taken_on, "slot": dict(slot)}
    known = json.loads(path.read_text(encoding="utf-8"))["models"] if path.exists() else {}
    columns = {key: [round(each, 4) for each in value] for key, value in asdict(model).items()}
    lines = ",\n".join(
        f"  {json.dumps(task)}: {json.dumps(each)}"
        for task, each in sorted({**known, name: columns}.items())
    )
    head = json.dumps(document, indent=1)[:-2]
    write_text(path, f'{head},\n "models": {{\n{lines}\n }}\n}}\n')


class TrialFile:
    """The trials of one task on one slot, a line each; see `trials.TrialJournal`.

    Raises
    ------
    InvalidInput
        The file is damaged; names the line.
    """

    def __init__(self, path: Path, task: str, options: Mapping[str, object]) -> None:
        self._path = path
        self._key = {"task": task, "options": dict(options)}
        self._trials = {(each.threads, each.rate): each for each in self._read()}

    def _read(self) -> list[RateTrial]:
        if not self._path.exists():
            return []
        trials = []
        lines = self._path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, start=1):
            try:
                document = json.loads(line)
                key = {name: document.pop(name) for name in self._key}
                trial = RateTrial(**{name: document[name] for name in _FIELDS})
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                if number == len(lines):
                    # Of a command that was killed while it wrote.
                    write_text(self._path, "".join(f"{each}\n" for each in lines[:-1]))
                    continue
                raise InvalidInput(f"is no trial: {error}", f"{self._path}:{number}") from None
            if key == self._key:
                trials.append(trial)
        return trials

    def __len__(self) -> int:
        """Return how many trials there are."""
        return len(self._trials)

    def find(self, threads: int, rate: float) -> RateTrial | None:
        """Return the trial of a rate, None if there was none."""
        return self._trials.get((threads, rate))

    def add(self, trial: RateTrial) -> None:
        """Add a trial."""
        self._trials[trial.threads, trial.rate] = trial
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**self._key, **asdict(trial)}) + "\n")
