"""The demo's wait for a plan, on a real cluster whose brain declines, hangs or dies."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest
from stage import Stage

from stormcut.adapters.clusters.local import LocalCluster
from stormcut.adapters.processes.brain import BrainProcess, brain_process
from stormcut.adapters.zookeeper.nodes import StormcutNodes, nodes_at
from stormcut.application.experiment import turn_plan
from stormcut.application.experiment.turn_plan import place_anew
from stormcut.application.waiting import TimedOut
from stormcut.cli.steps import Steps
from stormcut.model.errors import StormcutError
from stormcut.model.profile import Profile

pytestmark = pytest.mark.cluster

NAME = "alpha"
STEPS = Steps("test")


@pytest.fixture
def brain(stage: Stage[LocalCluster]) -> Iterator[BrainProcess]:
    with brain_process(stage.cluster) as brain:
        yield brain


@pytest.fixture
def nodes(stage: Stage[LocalCluster]) -> Iterator[StormcutNodes]:
    with nodes_at(stage.cluster.zookeeper_address, stage.cluster.auth_file) as nodes:
        yield nodes


@pytest.fixture
def profile(stage: Stage[LocalCluster], nodes: StormcutNodes) -> Iterator[Profile]:
    """A profile without an executor: it fits no topology."""
    topology = stage.nimbus.topology_id(NAME)
    yield Profile(topology, 0, int(time.time()), (), ())
    nodes.delete_profile(topology)


def test_a_brain_that_declines_is_told_at_once_with_its_reason(
    stage: Stage[LocalCluster], brain: BrainProcess, nodes: StormcutNodes, profile: Profile
) -> None:
    before, began = stage.workers(NAME), time.monotonic()
    with pytest.raises(StormcutError, match=r"the brain (declined|moves nothing): .*it lacks"):
        place_anew(stage.cluster, brain, nodes, NAME, profile, STEPS)
    assert time.monotonic() - began < 30
    assert stage.workers(NAME) == before


def test_a_brain_that_hangs_is_given_up_with_what_nimbus_said(
    stage: Stage[LocalCluster],
    brain: BrainProcess,
    nodes: StormcutNodes,
    profile: Profile,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turn_plan, "PLAN_S", 5.0)
    os.kill(brain.process.pid, signal.SIGSTOP)
    try:
        with pytest.raises(TimedOut) as error:
            place_anew(stage.cluster, brain, nodes, NAME, profile, STEPS)
    finally:
        os.kill(brain.process.pid, signal.SIGCONT)
    assert "the brain makes a plan from the profile" in str(error.value)
    assert "Nimbus said last: " in str(error.value)
    assert "stormcut: " in str(error.value)


def test_a_brain_that_dies_is_not_waited_for(
    stage: Stage[LocalCluster], brain: BrainProcess, nodes: StormcutNodes, profile: Profile
) -> None:
    os.kill(brain.process.pid, signal.SIGKILL)
    with pytest.raises(StormcutError, match="the brain ended with exit code -9; the brain said"):
        place_anew(stage.cluster, brain, nodes, NAME, profile, STEPS)
