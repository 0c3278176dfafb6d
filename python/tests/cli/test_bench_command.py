"""What cannot be measured is said before a cluster is started."""

import subprocess
import sys

import pytest
from click.testing import CliRunner

from stormcut.cli.main import cli
from stormcut.lab.adapters.bench.journal import FileJournal
from stormcut.lab.adapters.clusters import docker as docker_cluster
from stormcut.lab.experiment.bench.cells import LINK_FACT, BenchRun
from stormcut.model.errors import InvalidInput


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--setting", "fast"), "no such setting"),
        (("--schedulers", "even,best"), "best"),
        (("--schedulers", "cut:relief=much"), "relief"),
        (("--schedulers", " , "), "names no scheduler"),
        (("--topologies", "circle"), "no such topology"),
        (("--report-only", "--output", "nowhere/bench"), "holds no bench"),
        (("--bandwidth", "fast"), "fast"),
        (("--bandwidth", "up=5mbit"), "out=50mbit,in=25mbit"),
        (("--heterogeneous", "2x1"), "heterogeneous"),
    ],
)
def test_what_cannot_be_used_is_refused_at_once(monkeypatch, arguments, words):
    monkeypatch.setattr(docker_cluster.DockerCluster, "up", pytest.fail)
    error = CliRunner().invoke(cli, ["bench", *arguments]).exception
    assert isinstance(error, InvalidInput), error
    assert words in str(error)


def test_another_benchs_folder_is_refused_before_there_is_a_cluster(monkeypatch, tmp_path):
    FileJournal.open(tmp_path, BenchRun("cpu", "", ("even",), ("linear",), 5, {}, {}, {}))
    monkeypatch.setattr(docker_cluster.DockerCluster, "up", pytest.fail)
    error = CliRunner().invoke(cli, ["bench", "--output", str(tmp_path)]).exception
    assert isinstance(error, InvalidInput), error
    assert f"{tmp_path}: holds another bench: its setting is cpu, not network" in str(error)


@pytest.mark.parametrize(
    ("options", "link", "words"),
    [
        ((), "5", "its link: 5 Mbit/s each way"),
        (("--bandwidth", "out=5mbit,in=500kbit"), "out=5,in=0.5", "5 Mbit/s out, 0.5 Mbit/s in"),
        (("--bandwidth", "out=5mbit"), "out=5", "5 Mbit/s out, no limit in"),
        (("--setting", "cpu"), "not limited", "no limit each way"),
    ],
)
def test_a_run_notes_what_a_nodes_link_carries_each_way(
    monkeypatch, tmp_path, options, link, words
):
    class Planned(Exception):
        pass

    def planned(folder, run):
        raise Planned(run.facts)

    monkeypatch.setattr(FileJournal, "check", planned)
    command = ["bench", "--output", str(tmp_path / "new"), *options]
    (facts,) = CliRunner().invoke(cli, command).exception.args
    assert facts[LINK_FACT] == link
    assert words in facts["limits"]


@pytest.mark.slow
def test_a_mistake_is_one_line_whatever_libraries_say_of_each_other():
    # It imports Docker's and streamparse's libraries, which warn of their own dependencies.
    command = [sys.executable, "-m", "stormcut.cli.main", "docker", "status", "--name", "nowhere"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
