import gzip
import hashlib
import json
import logging
import os
import socket
import subprocess
import uuid
from dataclasses import replace
from functools import partial

import pytest
from brain_clusters import profile_of, topology
from conftest_zookeeper import PATIENCE_S
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import OPEN_ACL_UNSAFE, make_digest_acl

from stormcut.adapters.thrift.seal import Seal
from stormcut.adapters.zookeeper import undos
from stormcut.adapters.zookeeper.blob import (
    BLOB_VERSION,
    PART_BYTES,
    blob_id,
    delete_blob,
    read_blob,
    write_blob,
)
from stormcut.adapters.zookeeper.client import (
    Client,
    Credentials,
    connected,
    open_client,
    read_auth_file,
    refusal,
)
from stormcut.adapters.zookeeper.nodes import HISTORY_KEPT, StormcutNodes
from stormcut.adapters.zookeeper.orders import read_orders
from stormcut.adapters.zookeeper.publication import ZooKeeperPublication
from stormcut.adapters.zookeeper.store import ZooKeeperStore
from stormcut.adapters.zookeeper.trails import read_trail
from stormcut.adapters.zookeeper.undos import (
    delete_undo,
    read_undos,
    write_undo,
)
from stormcut.control.gate.change import Initiator
from stormcut.control.gate.ledger import Restarts
from stormcut.control.orders import By, Override, Undo
from stormcut.control.ports import Record, Unavailable
from stormcut.control.review.trail import Step
from stormcut.model.cluster import Slot, Worker
from stormcut.model.errors import InvalidInput
from stormcut.model.plan import Declined, Plan, TopologyPlan

PACKED = gzip.compress(b"content" * 100, mtime=0)
PLAN = Plan(
    "p1",
    "f" * 64,
    1_700_000_000_000,
    (TopologyPlan("t", (Worker(Slot("n", 6700), (1, 2)),), "p-scheduler", "weil ü"),),
    (Declined("u", "no"),),
)

ENTRY = {"version": 1, "plan": "p", "created_ms": 0, "topologies": [], "declined": []}


@pytest.fixture
def nodes(zookeeper, auth_file):
    with connected(zookeeper, read_auth_file(auth_file)) as client:
        nodes = StormcutNodes(client, f"/test-{uuid.uuid4().hex}")
        nodes.secure()
        yield nodes


def test_a_plan_that_cannot_be_published_is_named():
    client = Client(Seal("stormcut:geheim"), hosts="127.0.0.1:1")
    with pytest.raises(Unavailable, match="plan p1 was not published") as refusal:
        ZooKeeperStore(StormcutNodes(client)).publish(PLAN, Record())
    assert refusal.value.plan == PLAN.id


@pytest.mark.cluster
class TestBlob:
    def test_large_content_is_split_and_read_back(self, nodes):
        path, content = nodes.path("plan"), os.urandom(3 * PART_BYTES)
        write_blob(nodes.client, path, content)
        assert len(nodes.client.get_children(path)) > 2
        assert read_blob(nodes.client, path) == content

    def test_a_new_content_replaces_the_old_parts(self, nodes):
        path = nodes.path("plan")
        first = write_blob(nodes.client, path, b"old")
        second = write_blob(nodes.client, path, b"new")
        assert first != second == blob_id(nodes.client, path)
        assert nodes.client.get_children(path) == [f"{second}-0"]
        assert read_blob(nodes.client, path) == b"new"

    def test_nothing_there_reads_as_none(self, nodes):
        assert read_blob(nodes.client, nodes.path("plan")) is None
        assert blob_id(nodes.client, nodes.path("plan")) is None
        assert not delete_blob(nodes.client, nodes.path("plan"))

    def test_a_deleted_blob_is_gone(self, nodes):
        write_blob(nodes.client, nodes.path("plan"), b"content")
        assert delete_blob(nodes.client, nodes.path("plan"))
        assert nodes.client.exists(nodes.path("plan")) is None

    @pytest.mark.parametrize("damage", ["lost part", "changed part"])
    def test_a_torn_blob_is_detected(self, nodes, damage):
        path = nodes.path("plan")
        identity = write_blob(nodes.client, path, b"content" * 100)
        if damage == "lost part":
            nodes.client.delete(f"{path}/{identity}-0")
        else:
            data, _ = nodes.client.get(f"{path}/{identity}-0")
            nodes.client.set(f"{path}/{identity}-0", data[:-1] + b"x")
        with pytest.raises(InvalidInput, match=r"plan: damaged"):
            read_blob(nodes.client, path)

    @pytest.mark.parametrize(
        "packed",
        [b"not gzip", PACKED[:12] + b"\xff" * 9, PACKED[:-6], PACKED[:-8] + b"12345678"],
        ids=["no gzip", "noise", "cut off", "other checksum"],
    )
    def test_what_cannot_be_unpacked_is_damaged_though_its_checksum_fits(self, nodes, packed):
        path = nodes.path("plan")
        meta = {"version": BLOB_VERSION, "id": "a", "parts": 1, "bytes": len(packed)}
        meta["sha256"] = hashlib.sha256(packed).hexdigest()
        meta["hmac"] = nodes.seal.mark("blob", "plan", "a", meta["sha256"])
        nodes.client.create(path, json.dumps(meta).encode(), makepath=True)
        nodes.client.create(f"{path}/a-0", packed)
        with pytest.raises(InvalidInput, match=r"plan: damaged"):
            read_blob(nodes.client, path)

    def test_a_newer_version_says_so(self, nodes):
        path = nodes.path("plan")
        nodes.client.ensure_path(path)
        nodes.client.set(path, json.dumps({"version": 3, "shape": "new"}).encode())
        with pytest.raises(InvalidInput, match="is of version 3, this stormcut reads 2"):
            read_blob(nodes.client, path)

    def test_what_another_has_signed_or_for_another_place_is_not_read(self, nodes):
        path = nodes.path("plan")
        for stranger in (Seal("stormcut:falsch").mark, partial(nodes.seal.mark, "x")):
            write_blob(nodes.client, path, b"content")
            meta = json.loads(nodes.client.get(path)[0])
            meta["hmac"] = stranger("blob", "plan", meta["id"], meta["sha256"])
            nodes.client.set(path, json.dumps(meta).encode())
            with pytest.raises(InvalidInput, match="plan: is not signed by the secret"):
                read_blob(nodes.client, path)

    @pytest.mark.parametrize("data", [b"\xff\x00", b"[]", b"{}", b'{"version":2}', b"null"])
    def test_foreign_data_is_refused(self, nodes, data):
        path = nodes.path("plan")
        nodes.client.ensure_path(path)
        nodes.client.set(path, data)
        with pytest.raises(InvalidInput, match="does not describe a blob"):
            read_blob(nodes.client, path)


@pytest.mark.cluster
class TestNodes:
    def test_a_plan_reads_back(self, nodes):
        assert not nodes.has_plan()
        nodes.write_plan(PLAN)
        assert nodes.has_plan()
        assert nodes.read_plan() == PLAN

    def test_a_profile_reads_back_and_is_read_once(self, nodes):
        profile = profile_of(topology("t-1"))
        nodes.write_profile(profile)
        assert nodes.read_profiles() == {"t-1": profile}
        assert nodes.read_profiles()["t-1"] is nodes.read_profiles()["t-1"]
        assert nodes.delete_profile("t-1")
        assert not nodes.delete_profile("t-1")
        assert nodes.read_profiles() == {}

    @pytest.mark.parametrize(
        "content", [b'{"format": "other"}', b"[" * 200_000], ids=["other", "deep"]
    )
    def test_an_unusable_profile_is_logged_once_and_left_out(self, nodes, caplog, content):
        write_blob(nodes.client, nodes.path("profiles/bad"), content)
        nodes.write_profile(profile_of(topology("good")))
        for _ in range(3):
            assert set(nodes.read_profiles()) == {"good"}
        assert caplog.text.count("profile not used") == 1

    @pytest.mark.parametrize(
        "meta",
        [
            b"[" * 100_000,
            b'{"version": 2, "id": "../../x", "parts": 1, "bytes": 1, "sha256": ""}',
            b'{"version": 2, "id": "a", "parts": 1000000000, "bytes": 1, "sha256": ""}',
            b'{"version": 2, "id": 7, "parts": 1, "bytes": 1, "sha256": ""}',
        ],
        ids=["deep", "a path", "many parts", "a number"],
    )
    def test_poisoned_nodes_are_named_once_and_the_others_used(self, nodes, caplog, meta):
        nodes.client.create(nodes.path("profiles/bad"), meta, makepath=True)
        nodes.client.create(nodes.path("plan"), meta, makepath=True)
        nodes.write_profile(profile_of(topology("good")))
        for _ in range(3):
            assert set(nodes.read_profiles()) == {"good"}
        assert caplog.text.count("profile not used") == 1
        store = ZooKeeperStore(nodes)
        assert store.last_plan() is None
        store.publish(PLAN, Record({"version": 1}))
        assert store.last_plan() == PLAN

    def test_nodes_of_others_are_named_once_and_the_others_used(self, nodes, caplog):
        others = [make_digest_acl("other", "secret", all=True)]
        for kind in ("profiles", "former"):
            nodes.client.ensure_path(nodes.path(kind))
            nodes.client.create(nodes.path(f"{kind}/bad"), b"", acl=others)
        nodes.write_profile(profile_of(topology("good")))
        for _ in range(3):
            assert set(nodes.read_profiles()) == {"good"}
            assert read_undos(nodes) == {}
        assert caplog.text.count("belongs to other credentials") == 2

    def test_an_order_to_go_back_reads_back_and_is_taken_back(self, nodes):
        assert read_undos(nodes) == {}
        for workers in (PLAN.topologies[0].workers, (Worker(Slot("m", 1), (1, 2)),)):
            write_undo(nodes, "t-1", Undo(workers))
            assert read_undos(nodes) == {"t-1": Undo(workers)}
        assert delete_undo(nodes, "t-1")
        assert not delete_undo(nodes, "t-1")
        assert read_undos(nodes) == {}

    @pytest.mark.parametrize(
        "data", [b"", b"[]", b'{"version":2}', b'{"version":2,"workers":[["n",1,[1]]],"hmac":"00"}']
    )
    def test_an_unusable_order_is_logged_once_and_left_out(self, nodes, caplog, data):
        nodes.client.create(nodes.path("former/bad"), data, makepath=True)
        write_undo(nodes, "good", Undo(()))
        for _ in range(3):
            assert read_undos(nodes) == {"good": Undo(())}
        assert caplog.text.count("order not used") == 1

    @pytest.mark.parametrize("name", ["", "a/b", ".", ".."])
    def test_a_name_that_is_no_topology_id_is_refused(self, nodes, name):
        with pytest.raises(InvalidInput, match="topology id"):
            nodes.delete_profile(name)

    def test_history_keeps_the_last_entries_newest_first(self, nodes):
        assert nodes.read_history(5) == []
        for number in range(HISTORY_KEPT + 3):
            nodes.append_history({**ENTRY, "plan": str(number)})
        entries = nodes.read_history(HISTORY_KEPT + 10)
        assert [e["plan"] for e in entries] == [str(n) for n in range(HISTORY_KEPT + 2, 2, -1)]

    def test_entries_that_cannot_be_read_hide_no_others(self, nodes, caplog):
        nodes.append_history({**ENTRY, "plan": "old"})
        nodes.append_history({**ENTRY, "version": 2})
        for damaged in (b"[" * 100_000, b"\xff", b"[]"):
            nodes.client.create(nodes.path("history") + "/", damaged, sequence=True)
        nodes.append_history({**ENTRY, "plan": "new"})
        assert [entry["plan"] for entry in nodes.read_history(10)] == ["new", "old"]
        assert caplog.text.count("history entry left out") == 4
        assert "version 2" in caplog.text

    def test_an_entry_above_the_limit_is_stored_without_its_lines(self, nodes, caplog):
        lines = [{"topology": "t" * 1000}] * 2000
        nodes.append_history({**ENTRY, "plan": "p", "topologies": lines})
        (entry,) = nodes.read_history(1)
        assert entry["omitted"]["topologies"] == 2000
        assert [record.plan for record in caplog.records] == ["p"]

    def test_strangers_can_do_nothing(self, nodes, zookeeper, auth_file):
        nodes.write_plan(PLAN)
        nodes.append_history({"version": 1})
        # Not even the secret itself: what ZooKeeper is told is derived from it.
        stranger = KazooClient(zookeeper, auth_data=[("digest", auth_file.read_text().strip())])
        stranger.start(timeout=PATIENCE_S)
        try:
            paths = [nodes.root]
            for path in paths:
                for deed in (
                    lambda p=path: stranger.get(p),
                    lambda p=path: stranger.set(p, b"x"),
                    lambda p=path: stranger.get_children(p),
                    lambda p=path: stranger.create(f"{p}/mine", b""),
                ):
                    with pytest.raises(NoAuthError):
                        deed()
                if path != nodes.root:  # whose parent is Storm's, but which is not empty
                    with pytest.raises(NoAuthError):
                        stranger.delete(path)
                paths += [f"{path}/{child}" for child in nodes.client.get_children(path)]
            assert len(paths) > 4
        finally:
            stranger.stop()
            stranger.close()

    def test_an_open_root_is_closed(self, zookeeper, auth_file):
        root = f"/open-{uuid.uuid4().hex}"
        stranger = KazooClient(zookeeper)
        stranger.start(timeout=PATIENCE_S)
        try:
            stranger.create(root)
            with connected(zookeeper, read_auth_file(auth_file)) as client:
                StormcutNodes(client, root).secure()
            with pytest.raises(NoAuthError):
                stranger.get(root)
        finally:
            stranger.stop()
            stranger.close()

    def test_foreign_credentials_are_one_clear_error(self, nodes, zookeeper):
        nodes.write_plan(PLAN)
        with (
            pytest.raises(InvalidInput, match="other credentials"),
            connected(zookeeper, Credentials("stormcut", "wrong")) as client,
        ):
            StormcutNodes(client, nodes.root).read_plan()

    @pytest.mark.parametrize("name", ["restarts", "reviews", "plan", "history", "election"])
    def test_what_a_stranger_made_in_our_folder_first_is_replaced(self, zookeeper, auth_file, name):
        root = f"/first-{uuid.uuid4().hex}"
        with connected(zookeeper, Credentials("mallory", "x")) as stranger:
            # Open, as Storm's own nodes are.
            stranger.create(root, b"", acl=OPEN_ACL_UNSAFE)
            stranger.create(f"{root}/{name}", b"evil")
        with connected(zookeeper, read_auth_file(auth_file)) as client:
            ours = StormcutNodes(client, root)
            ours.secure()
            ours.write_plan(PLAN, None, {"restarts": {"version": 1, "restarts": []}})
            assert ours.read_plan() == PLAN

    def test_nothing_is_deleted_while_the_secret_may_be_about_to_change(self, nodes, zookeeper):
        nodes.write_plan(PLAN)
        nodes.client.create(nodes.path("orders"), b"")
        with connected(zookeeper, Credentials("stormcut", "new")) as client:
            new = client.default_acl
        for name in ("orders", "plan"):
            nodes.client.set_acls(nodes.path(name), new)
        nodes.secure()
        assert nodes.client.exists(nodes.path("plan"))
        assert read_orders(nodes).is_paused

    def test_the_password_is_in_no_log(self, zookeeper, auth_file, caplog):
        caplog.set_level(logging.DEBUG)
        credentials = read_auth_file(auth_file)
        with connected(zookeeper, credentials) as client:
            StormcutNodes(client, f"/quiet-{uuid.uuid4().hex}").secure()
        assert credentials.password not in caplog.text + repr(credentials)


class TestAuthFile:
    def test_a_missing_file_names_a_command_that_works(self, tmp_path):
        path = tmp_path / "with space" / "auth"
        path.parent.mkdir()
        with pytest.raises(InvalidInput) as error:
            read_auth_file(path)
        command = error.value.what.partition("create it with: ")[2]
        subprocess.run(["sh", "-c", command], check=True)
        assert read_auth_file(path).user == "stormcut"

    @pytest.mark.parametrize("mode", [0o644, 0o640, 0o620, 0o604])
    def test_a_file_open_to_others_is_refused(self, auth_file, mode):
        auth_file.chmod(mode)
        with pytest.raises(InvalidInput, match="chmod 600"):
            read_auth_file(auth_file)

    @pytest.mark.parametrize("text", ["", "user", "user:", ":password", "a:b\nc:d\n", "\n"])
    def test_another_form_is_refused_without_telling_the_content(self, auth_file, text):
        auth_file.write_text(text)
        with pytest.raises(InvalidInput, match="one line user:password"):
            read_auth_file(auth_file)


@pytest.mark.parametrize("root", ["stormcut", "/", "/a/", "/a//b", ""])
def test_a_root_that_is_no_absolute_path_is_refused(root):
    with pytest.raises(InvalidInput, match="absolute path"):
        StormcutNodes(Client(Seal("a:b")), root)


@pytest.mark.slow
def test_who_connects_is_told_at_once_that_nothing_listens_or_no_host_has_the_name(monkeypatch):
    monkeypatch.setattr("stormcut.adapters.zookeeper.client.CONNECT_SECONDS", 1e6)
    with pytest.raises(InvalidInput, match="nothing listens there"):
        open_client("127.0.0.1:1,127.0.0.2:1", Credentials("a", "b"))
    with pytest.raises(InvalidInput, match="no host of this name: no-such-host"):
        open_client("no-such-host:2181", Credentials("a", "b"))


@pytest.mark.slow
def test_who_is_silent_may_yet_answer(monkeypatch):
    monkeypatch.setattr("stormcut.adapters.zookeeper.client.CONNECT_SECONDS", 1.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        servers = f"127.0.0.1:1,127.0.0.1:{silent.getsockname()[1]}"
        assert refusal(servers) is None
        with pytest.raises(InvalidInput, match="no ZooKeeper answers"):
            open_client(servers, Credentials("a", "b"))


@pytest.mark.cluster
class TestFence:
    def test_who_does_not_lead_any_more_publishes_nothing(self, nodes):
        place = nodes.path("election/me")
        nodes.client.create(place, b"", ephemeral=True, makepath=True)
        nodes.fence = place
        store, publication = ZooKeeperStore(nodes), ZooKeeperPublication(nodes)
        workers = (Worker(Slot("n", 6700), (1,)),)
        step = Step("p1", 5.0, Initiator.GAIN, workers, workers)
        record = Record({**ENTRY, "version": 1}, {"t-1-1": step}, (Restarts(-5.0, "t-1-1", 4),))
        store.publish(PLAN, record)
        assert store.last_plan() == PLAN
        # Aged by ZooKeeper's clock since then, whatever this machine's says.
        (kept,) = store.restarts()
        assert -60.0 < kept.at_s <= -5.0
        assert (kept.topology, kept.count) == ("t-1-1", 4)
        assert read_trail(nodes, "t-1-1") == (step,)
        nodes.client.delete(place)
        other = replace(PLAN, id="p2")
        with pytest.raises(Unavailable, match="p2 was not published: this brain does not lead"):
            store.publish(other, Record({**ENTRY, "plan": "p2"}))
        for deed in (
            lambda: publication.publish(profile_of(topology("t"))),
            lambda: publication.take_back("t-1-1", workers, 9.0),
            lambda: publication.keep(()),
            lambda: store.restore(other),
        ):
            with pytest.raises(Unavailable, match="does not lead"):
                deed()
        assert store.last_plan() == PLAN
        assert len(nodes.read_history(9)) == 1
        assert nodes.read_profiles() == read_undos(nodes) == {}

    def test_a_person_who_orders_between_reading_and_writing_has_the_last_word(
        self, nodes, monkeypatch
    ):
        workers = (Worker(Slot("n", 6700), (1,)),)
        persons, own = Undo(workers), Undo((), By.CONTROLLER, until_s=1.0)
        publication, is_by = ZooKeeperPublication(nodes), undos._is_by

        def slow(*asked):
            found = is_by(*asked)
            write_undo(nodes, "t-1-1", persons)
            return found

        write_undo(nodes, "t-1-1", own)
        monkeypatch.setattr(undos, "_is_by", slow)
        publication.release("t-1-1")
        assert read_undos(nodes) == {"t-1-1": persons}
        publication.take_back("t-1-1", (), 9.0)
        assert read_undos(nodes) == {"t-1-1": persons}

    def test_what_a_person_ordered_back_is_not_taken_back(self, nodes):
        workers = (Worker(Slot("n", 6700), (1,)),)
        write_undo(
            nodes, "t-1-1", Undo(workers, override=Override("a reason", frozenset({"pinned"}), 3))
        )
        ZooKeeperPublication(nodes).take_back("t-1-1", (), 9.0)
        assert read_undos(nodes) == {
            "t-1-1": Undo(workers, override=Override("a reason", frozenset({"pinned"}), 3))
        }
