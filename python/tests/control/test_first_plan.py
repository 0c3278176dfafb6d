"""How soon a brain that was just started answers: Nimbus gives it two seconds."""

import subprocess
import sys
from pathlib import Path

import pytest

#: Time of the brain's own, in seconds.
LIMIT = 1.0

FIRST_PLAN = """
import time
import stormcut.cli.serving
from brain_clusters import dealt, profile_of, supervisors, topology
from stormcut.control.decide.adviser import Settings
from stormcut.control.decide.decide import decide
from stormcut.control.decide.question import Question
from stormcut.placement.options import DEFAULT_ALGORITHM
from stormcut.model.cluster import ClusterState, Slot

running = topology("t", (2, 4, 6))
assert len(running.executors) == 13
running = dealt(running, [Slot(f"n{i}", 6700) for i in range(4)])
profile = profile_of(running, rate=lambda source, target: 10.0 * source)
state = ClusterState(supervisors(4), (running,))
start = time.process_time()
decided = decide(Question(state, {"t": profile}, None, Settings(DEFAULT_ALGORITHM, {}, 0.05)))
print(time.process_time() - start)
assert decided
"""


@pytest.mark.slow
def test_the_first_plan_of_a_new_process_takes_less_than_a_second():
    run = subprocess.run(
        [sys.executable, "-c", FIRST_PLAN],
        cwd=Path(__file__).parents[1],
        env={"PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < LIMIT
