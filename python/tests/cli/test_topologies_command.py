import json
import os
from contextlib import nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner

from stormcut.adapters.storm.nimbus import NimbusClient
from stormcut.application.waiting import Watch
from stormcut.cli.main import cli
from stormcut.lab.adapters.clusters.redis_server import redis_server
from stormcut.lab.adapters.storm.topology_site import ClusterSite, FolderReports
from stormcut.lab.cli import topologies
from stormcut.model.errors import InvalidInput


def test_list_names_every_topology_and_its_options() -> None:
    table = CliRunner().invoke(cli, ["topologies", "list"]).output
    assert "word_count" in table
    assert "bigbench_star" in table
    [document] = json.loads(
        CliRunner().invoke(cli, ["topologies", "list", "star", "--json"]).output
    )
    assert document["options"]["hub"]["default"] == 8
    assert {"sender": "hub", "stream": "default", "receiver": "sink_1", "copies": 1} in document[
        "hops"
    ]


def test_what_cannot_be_used_is_said_before_a_cluster_is_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(topologies, "own_cluster", pytest.fail)

    def refusal(*arguments: str) -> str:
        error = CliRunner().invoke(cli, ["topologies", "run", *arguments]).exception
        assert isinstance(error, InvalidInput)
        return str(error)

    missing = refusal("taxi", "-o", "data=/nowhere")
    assert missing == "--option data: there is no data file /nowhere"
    bad = tmp_path / "bad.gz"
    bad.write_text("not packed")
    assert refusal("taxi", "-o", f"data={bad}").startswith(f"--option data: the data file {bad} ")
    assert refusal("linear", "-o", "rate=fast").startswith("--option rate: ")
    endless = refusal("linear", "-o", "replays=0")
    assert endless.startswith("--option replays: the run would never end; ")
    assert refusal("linear", "--minutes", "1", "-o", "seconds=0") == endless
    redis = refusal("yahoo", "-o", "redis=127.0.0.1:1")
    assert redis.startswith("--option redis: Redis at 127.0.0.1:1 does not answer: ")
    assert refusal("taxi", "--docker", "nowhere").startswith("cluster nowhere: is not up: ")
    assert "its own supervisors" in refusal("taxi", "--docker", "nowhere", "--slots", "3")


@pytest.mark.parametrize("minutes", ["-1", "0"])
def test_a_run_of_no_length_is_refused(minutes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topologies, "own_cluster", pytest.fail)
    done = CliRunner().invoke(cli, ["topologies", "run", "linear", "--minutes", minutes])
    assert done.exit_code == 2
    assert "--minutes" in done.output


def test_containers_do_not_see_files_of_this_machine(tmp_path: Path) -> None:
    data = tmp_path / "trips"
    data.write_text("a trip")
    site = ClusterSite(
        nimbus=NimbusClient("127.0.0.1", 1),
        folder=tmp_path,
        nodes=1,
        host="127.0.0.1",
        virtualenv=tmp_path,
        results=tmp_path,
        results_here=(tmp_path,),
        shares_files=False,
        options={},
        start=nullcontext,
        watch=lambda name: Watch(),
    )
    with pytest.raises(InvalidInput, match="trips: must lie below src/data"):
        site.submit("taxi", "taxi", {"data": str(data)})


def test_reports_are_gathered_from_all_nodes(tmp_path: Path) -> None:
    folders = [tmp_path / node for node in ("one", "two", "idle")]
    for folder in folders[:2]:
        folder.mkdir()
        (folder / "source-1-7.json").write_text(json.dumps({"node": folder.name}))
        (folder / "source-2-7.part").write_text("{")
    assert FolderReports(tuple(folders)).newest() == [{"node": "one"}, {"node": "two"}]


def test_draw_writes_a_picture_of_each(tmp_path: Path) -> None:
    assert CliRunner().invoke(cli, ["topologies", "draw", str(tmp_path)]).exit_code == 0
    assert (tmp_path / "taxi.svg").read_text().count("<rect") == 1 + 5


def test_without_redis_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", os.environ | {"PATH": "/nonexistent"})
    with pytest.raises(InvalidInput, match="apt install redis-server"), redis_server():
        pass
