"""What stays of a command's cluster when the command fails."""

import os
import shutil
from pathlib import Path

import pytest

from stormcut.cli.steps import Steps
from stormcut.lab.adapters.clusters.local import LocalCluster
from stormcut.lab.cli.own_cluster import ended, own_cluster
from stormcut.model.errors import StormcutError

pytestmark = pytest.mark.cluster

NAME = f"own-{os.getpid()}"
STEPS = Steps("test")


class Failure(StormcutError):
    """What goes wrong in the block."""


def test_a_failure_keeps_the_cluster_or_its_logs_and_names_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    try:
        with (
            pytest.raises(Failure),
            own_cluster(NAME, 1, 1, STEPS, plugin=False, keep=True) as cluster,
        ):
            raise Failure("it went wrong")
        told = capsys.readouterr().err
        assert cluster.nimbus.cluster().has_leader
        assert str(cluster.folder) in told
        assert f"cluster down --name {NAME}" in told

        with pytest.raises(Failure), ended(cluster, STEPS):
            raise Failure("and again")
        *_, line = capsys.readouterr().err.splitlines()
        kept = Path(line.removeprefix("The logs are kept: "))
        assert (kept / "nimbus" / "nimbus.log").stat().st_size > 0
        assert not cluster.folder.exists()
        assert cluster.pids() == []
        shutil.rmtree(kept)
    finally:
        LocalCluster.clear(NAME)
