"""`stormcut config check` finds what a controller would not find around it."""

import json

import pytest
import yaml
from brain_clusters import supervisors
from conftest_zookeeper import PATIENCE_S

from stormcut.adapters.thrift.brain import BrainServer
from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.application.waiting import wait_until
from stormcut.model.cluster import ClusterState, Described

ROOT = "/config-check"


class Seer:
    """Leads, and knows three nodes."""

    leads = True

    def described(self):
        return Described(ClusterState(supervisors(3), ()), 1)


@pytest.fixture
def written(tmp_path, auth_file):
    """Writes a controller's file; returns its path."""

    def write(servers, **changes):
        logs = tmp_path / "logs"
        logs.mkdir(exist_ok=True)
        document = {
            "zookeeper": {"servers": servers, "auth_file": str(auth_file), "root": ROOT},
            "observe": {"logs": [str(logs)]},
            **changes,
        }
        (tmp_path / "stormcut.yaml").write_text(yaml.safe_dump(document))
        return tmp_path / "stormcut.yaml"

    return write


@pytest.mark.slow
def test_all_that_is_not_there_is_named_in_one_line(stormcut, written, tmp_path, monkeypatch):
    monkeypatch.setattr("stormcut.adapters.zookeeper.client.CONNECT_SECONDS", 0.3)
    gone = str(tmp_path / "gone")
    path = written("127.0.0.1:1", observe={"logs": [gone]}, nimbus="127.0.0.1:1")
    code, out, err = stormcut("config", "check", path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    for words in (f"observe.logs: {gone}: no such folder", "nimbus: 127.0.0.1:1", "zookeeper: "):
        assert words in err
    code, out, _ = stormcut("config", "check", "--offline", "--json", path)
    assert code == 0 and json.loads(out)["fine"] is True


@pytest.mark.slow
def test_a_supervisor_that_never_ran_a_worker_has_no_folder_yet(
    stormcut, written, tmp_path, monkeypatch
):
    monkeypatch.setattr("stormcut.adapters.zookeeper.client.CONNECT_SECONDS", 0.3)
    fresh = tmp_path / "logs" / "workers-artifacts"
    path = written("127.0.0.1:1", observe={"logs": [str(fresh)]})
    assert "observe.logs" not in stormcut("config", "check", path)[2]
    (tmp_path / "logs").rmdir()
    assert f"observe.logs: {fresh}: no such folder" in stormcut("config", "check", path)[2]


@pytest.mark.cluster
class TestWithZooKeeper:
    def test_a_wrong_secret(self, stormcut, written, zookeeper, auth_file):
        path = written(zookeeper)
        assert stormcut("config", "check", path)[0] == 0
        with connected(zookeeper, read_auth_file(auth_file)) as client:
            StormcutNodes(client, ROOT).secure()
        assert stormcut("config", "check", path)[0] == 0
        auth_file.write_text("stormcut:another\n")
        code, _, err = stormcut("config", "check", path)
        assert code == 2 and "belong to other credentials" in err

    def test_unknown_drained_nodes(self, stormcut, written, zookeeper, auth_file):
        credentials = read_auth_file(auth_file)
        server = BrainServer(Seer(), "b", credentials.seal, "127.0.0.1", 0, Seer())
        server.start()
        with connected(zookeeper, credentials) as client:
            nodes = StormcutNodes(client, ROOT + "-led")
            nodes.secure()
            address = {"version": 1, "id": "b", "host": "127.0.0.1", "port": server.port}
            client.create(nodes.path("leader"), json.dumps(address).encode(), ephemeral=True)
            wait_until(nodes.is_led, PATIENCE_S, "it leads")
            place = {"servers": zookeeper, "auth_file": str(auth_file), "root": nodes.root}
            path = written(zookeeper, zookeeper=place, drained=["n0", "h*", "n7", "x*"])
            code, _, err = stormcut("config", "check", path)
        server.close()
        assert code == 2
        assert "drained: n7: no supervisor" in err and "drained: x*: no supervisor" in err
        assert "n0:" not in err and "h*:" not in err
