"""Faults under load, with the controller in automatic mode: what holds after each of them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from benchmarks.cluster.fault_ground import (
    Fault,
    Ground,
    embedded,
    faults_in_logs,
    is_there,
    settled,
    suffer,
)
from benchmarks.cluster.fault_list import FAULTS, killed

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="session")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Two controllers and one topology, of which every tuple is written down."""
    folder = tmp_path_factory.mktemp("ground")
    with embedded(f"tests-faults-{os.getpid()}", folder, topologies=1, whole=False) as ground:
        yield ground


@pytest.fixture(scope="session")
def whole_ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """The same with two topologies, disks that can be filled, clocks that can be set."""
    folder: Path = tmp_path_factory.mktemp("whole-ground")
    with embedded(f"tests-matrix-{os.getpid()}", folder) as ground:
        yield ground


def named(short: bool) -> list[object]:
    return [pytest.param(each, id=each.name) for each in FAULTS if each.short == short]


def hurts_nothing(ground: Ground, fault: Fault) -> None:
    if not is_there(fault.needs):
        pytest.skip(f"needs {fault.needs}")
    outcome = suffer(ground, fault)
    assert not outcome.wrong, str(outcome)


def test_what_ends_by_itself_is_not_struck(ground: Ground) -> None:
    sleepers = [subprocess.Popen(["sleep", "60"]) for _ in range(2)]
    gone, alive = (psutil.Process(each.pid) for each in sleepers)
    sleepers[0].kill()
    sleepers[0].wait()
    killed(lambda _ground: [gone, alive])(ground)
    assert sleepers[1].wait(10) < 0
    with pytest.raises(LookupError, match="struck nothing"):
        killed(lambda _ground: [gone])(ground)


@pytest.mark.parametrize("fault", named(short=True))
def test_a_fault_that_is_soon_over(ground: Ground, fault: Fault) -> None:
    hurts_nothing(ground, fault)


def test_in_the_end_nothing_is_lost(ground: Ground) -> None:
    counts = settled(ground)
    assert counts["sent"] > 0
    assert counts["lost"] == 0
    assert not faults_in_logs(ground)


@pytest.mark.full
@pytest.mark.parametrize("fault", named(short=False))
def test_a_fault_of_the_long_list(whole_ground: Ground, fault: Fault) -> None:
    hurts_nothing(whole_ground, fault)
