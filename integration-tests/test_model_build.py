"""A model of a task by trials on a real cluster, and once more from the trials alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.docker, pytest.mark.full, pytest.mark.timeout(1200)]


def test_one_thread_is_tried_until_its_highest_rate_is_known(tmp_path: Path) -> None:
    # The server takes 200 ms for an answer: a thread serves at most 5 a second, whatever the CPU.
    command = [sys.executable, "-m", "stormcut.cli.main", "model", "build", "table"]
    command += ["--threads", "1", "--first-rate", "4.5", "--seconds", "8"]
    command += ["--option", "table.delay.ms=200", "--option", "table.rows=1000"]
    command += ["--output", str(tmp_path / "models.json"), "--name", f"model-{os.getpid()}"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    (model,) = json.loads((tmp_path / "models.json").read_text())["models"].values()
    assert model["threads"] == [1]
    assert 4.0 <= model["rate"][0] <= 5.1
    trials = (tmp_path / "models.trials.jsonl").read_text().splitlines()
    verdicts = {json.loads(trial)["verdict"] == "stable" for trial in trials}
    assert verdicts == {True, False}
