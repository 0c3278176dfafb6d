"""The brain as a process, on a real ZooKeeper."""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import uuid
from contextlib import contextmanager, suppress
from dataclasses import replace
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import pytest
from brain_clusters import applied, dealt, profile_of, supervisors, topology
from conftest_zookeeper import PATIENCE_S, await_true, is_deleted, is_replaced, running_zookeeper
from kazoo.exceptions import NoAuthError, NoNodeError
from kazoo.security import make_digest_acl

from stormcut.adapters.files.profile_file import write_profile
from stormcut.adapters.thrift.client import BrainClient
from stormcut.adapters.thrift.seal import Seal
from stormcut.adapters.thrift.values import BinaryProtocol, WriteBuffer, to_state_struct
from stormcut.adapters.zookeeper.client import Credentials, connected, read_auth_file
from stormcut.adapters.zookeeper.leader import leader_address, leaders_client
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.adapters.zookeeper.orders import change_orders, read_orders
from stormcut.adapters.zookeeper.undos import read_undos, write_undo
from stormcut.control.orders import Orders, Undo
from stormcut.model.cluster import ClusterState, Slot
from stormcut.model.errors import InvalidInput

SLOTS = [Slot(f"n{i}", 6700) for i in range(3)]
NEW = ClusterState(supervisors(3), (topology("t-1"),))
RUNNING = ClusterState(supervisors(3), (dealt(topology("t-1", (2, 2)), SLOTS),))
FOUR_ASKED = ClusterState(supervisors(3), (dealt(topology("t-1", (2, 2), workers=4), SLOTS),))


class Brains:
    """Brain processes under one root, and the nodes to look at."""

    def __init__(self, zookeeper, auth_file, nodes, folder):
        self.nodes = nodes
        self.environment = {
            **os.environ,
            "STORMCUT_ZOOKEEPER": zookeeper,
            "STORMCUT_AUTH_FILE": str(auth_file),
        }
        self.processes = []
        self._folder = folder

    def start(self, *more):
        log = self._folder / f"brain-{len(self.processes)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [*self.command("brain", "--root", self.nodes.root), *more],
                env=self.environment,
                stderr=output,
            )
        process.log = log.read_text
        self.processes.append(process)
        await_true(lambda: "listens on" in process.log() or process.poll() is not None)
        return process

    def command(self, *names):
        return [sys.executable, "-m", "stormcut.cli.main", *names]

    def run(self, *command):
        return subprocess.run(
            [*self.command(*command), "--root", self.nodes.root],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    def leader(self, tls=None):
        """Return a client of the leader, None while there is none that answers."""
        client = leaders_client(self.nodes, PATIENCE_S, tls)
        if client is None:
            return None
        with suppress(InvalidInput):
            if client.health().leader:
                return client
        return None

    def await_leader(self, tls=None):
        """Return a client of the leader, as soon as one answers."""
        found = []
        await_true(lambda: found.append(self.leader(tls)) or found[-1] is not None)
        return found[-1]

    def await_plan(self, state):
        """Return a plan: who leads may change right after ZooKeeper has come back."""
        found = []

        def is_planned():
            with suppress(InvalidInput):
                found.append(self.await_leader().plan(state))
            return found

        await_true(is_planned)
        return found[0]

    def leads(self, process):
        """Return whether a process leads, as ZooKeeper has it: it may not answer as one yet."""
        with suppress(InvalidInput):
            # Read once: it may be gone the next moment.
            address = leader_address(self.nodes)
            return address is not None and f"-{process.pid}-" in address["id"]
        return False

    def leading_process(self):
        pid = int(leader_address(self.nodes)["id"].rsplit("-", 2)[1])
        return next(process for process in self.processes if process.pid == pid)

    def end(self):
        for process in self.processes:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGCONT)
            process.kill()
            process.wait()


@contextmanager
def brains_on(address, auth_file, folder):
    with connected(address, read_auth_file(auth_file)) as client:
        nodes = StormcutNodes(client, f"/brains-{uuid.uuid4().hex}")
        brains = Brains(address, auth_file, nodes, folder)
        try:
            yield brains
        finally:
            brains.end()


@pytest.fixture
def brains(zookeeper, auth_file, tmp_path):
    with brains_on(zookeeper, auth_file, tmp_path) as brains:
        yield brains


def stop(process, number=signal.SIGTERM):
    process.send_signal(number)
    return process.wait(timeout=PATIENCE_S)


@pytest.mark.cluster
class TestOneBrain:
    def test_the_same_question_gets_the_same_plan_in_zookeeper_and_history(self, brains):
        brains.start()
        leader = brains.await_leader()
        plan = leader.plan(NEW)
        assert leader.plan(NEW) == plan == brains.nodes.read_plan()
        assert leader.plan(applied(NEW, plan.topologies)) == plan
        (entry,) = brains.nodes.read_history(10)
        assert entry["plan"] == plan.id
        assert entry["topologies"][0]["evidence"] == "declared"
        assert leader.health().plans_served == 3

    def test_it_tells_over_http_and_in_json_lines_how_it_does(self, brains):
        process = brains.start("--http", "127.0.0.1:0", "--log-format", "json")
        (address,) = set(re.findall(r"http://127[.]0[.]0[.]1:\d+", process.log()))

        def page(path):
            with suppress(HTTPError), urlopen(f"{address}{path}", timeout=PATIENCE_S) as answer:
                return answer.read().decode()
            return ""

        assert json.loads(page("/healthz")) == {"alive": True}
        plan = brains.await_leader().plan(NEW)
        assert json.loads(page("/readyz"))["leads"]
        assert json.loads(page("/status"))["plan"]["id"] == plan.id
        metrics = page("/metrics").splitlines()
        assert "stormcut_plans_total 1.0" in metrics
        assert 'stormcut_questions_total{kind="plan",outcome="served"} 1.0' in metrics
        lines = [json.loads(line) for line in process.log().splitlines()]
        assert [line["plan"] for line in lines if "plan" in line] == [plan.id]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
        with pytest.raises(URLError):
            page("/healthz")

    def test_a_published_profile_moves_a_topology_and_withdrawn_stays(self, brains, tmp_path):
        process = brains.start()
        leader = brains.await_leader()
        assert leader.plan(RUNNING).declined
        path = tmp_path / "profile.json"
        write_profile(path, profile_of(RUNNING.topologies[0]))
        published = brains.run("publish", str(path), "--yes")
        assert published.returncode == 0, published.stderr
        await_true(lambda: "profile of t-1 read" in process.log())
        plan = leader.plan(RUNNING)
        assert plan.topologies[0].reason.startswith("moved by measured traffic")
        moved = applied(RUNNING, plan.topologies)
        assert leader.plan(moved) == plan
        assert brains.run("publish", "--withdraw", "t-1", "--yes").returncode == 0
        await_true(lambda: brains.nodes.read_profiles() == {})
        # That it stays where it is is no news: the plan is the same.
        assert leader.plan(moved) == plan
        shown = brains.run("history", "--limit", "3")
        assert "moved by measured traffic" in " ".join(shown.stdout.split())
        assert max(map(len, shown.stdout.splitlines())) <= 100
        entries = json.loads(brains.run("history", "--json").stdout)
        assert entries[0]["plan"] == plan.id

    def test_a_preview_is_the_plan_that_follows_and_changes_nothing(self, brains, tmp_path):
        brains.start()
        leader = brains.await_leader()
        leader.plan(FOUR_ASKED)
        path = tmp_path / "profile.json"
        write_profile(path, profile_of(FOUR_ASKED.topologies[0]))
        shown = brains.run("publish", str(path))
        assert shown.returncode == 2
        assert shown.stderr.splitlines()[-1] == (
            "stormcut: t-1: nothing was changed; add --yes to publish the profile"
        )
        assert "t-1: moves; workers end or start again in 3 slots" in shown.stdout
        assert "it asked for 4 workers (topology.workers), 3 run now; the plan has 2" in (
            " ".join(shown.stdout.split())
        )
        assert max(map(len, shown.stdout.splitlines())) <= 100
        assert brains.nodes.read_profiles() == {}
        previewed = json.loads(brains.run("publish", str(path), "--json").stdout)
        assert previewed["done"] is False
        assert len(brains.nodes.read_history(10)) == 1

        acted = brains.run("publish", str(path), "--yes", "--json")
        assert acted.returncode == 0, acted.stderr
        assert json.loads(acted.stdout)["done"] is True
        await_true(lambda: leader.plan(FOUR_ASKED).topologies)
        entry = brains.nodes.read_history(1)[0]
        assert entry["topologies"] == previewed["preview"]["topologies"]
        assert entry["fingerprint"] == previewed["preview"]["fingerprint"]

    def test_an_applied_plan_is_undone_and_stays_undone_also_by_another_brain(
        self, brains, tmp_path
    ):
        process = brains.start()
        leader = brains.await_leader()
        leader.plan(RUNNING)
        assert "no plan has moved any topology" in brains.run("undo", "t-1").stderr
        path = tmp_path / "profile.json"
        write_profile(path, profile_of(RUNNING.topologies[0]))
        brains.run("publish", str(path), "--yes")
        await_true(lambda: leader.plan(RUNNING).topologies)
        moved = applied(RUNNING, leader.plan(RUNNING).topologies)
        leader.plan(moved)

        shown = brains.run("undo", "t-1")
        assert shown.returncode == 2
        assert "add --yes to go back" in shown.stderr
        assert "undone: back to where it ran before" in " ".join(shown.stdout.split())
        assert leader.plan(moved).topologies[0].workers == moved.topologies[0].assignment
        assert brains.run("undo", "t-1", "--yes").returncode == 0
        former = tuple(sorted(RUNNING.topologies[0].assignment))
        await_true(lambda: leader.plan(moved).topologies[0].workers == former)
        back = applied(moved, leader.plan(moved).topologies)
        plan = leader.plan(back)
        assert plan.topologies[0].workers == former

        stop(process)
        brains.start()
        leader = brains.await_leader()
        assert leader.plan(back).topologies[0].workers == former
        assert brains.run("publish", str(path), "--yes").returncode == 0
        await_true(lambda: leader.plan(back).topologies[0].workers != former)

    def test_a_stopped_topology_stays_where_it_runs_until_it_is_released(self, brains):
        brains.start()
        leader = brains.await_leader()
        leader.plan(RUNNING)
        done = brains.run("stop", "t-1")
        assert done.returncode == 0, done.stderr
        assert "t-1 stays where it runs" in done.stdout
        present = tuple(sorted(RUNNING.topologies[0].assignment))
        await_true(lambda: [t.workers for t in leader.plan(RUNNING).topologies] == [present])
        assert "no such topology" in brains.run("stop", "other").stderr
        assert "t-1 may move again" in brains.run("release", "t-1").stdout
        assert not read_undos(brains.nodes)

    def test_what_cannot_be_previewed_is_one_line_and_yes_acts_without(self, brains, tmp_path):
        brains.nodes.secure()
        path = tmp_path / "profile.json"
        write_profile(path, profile_of(RUNNING.topologies[0]))

        def refused(says):
            shown = brains.run("publish", str(path))
            assert (shown.returncode, shown.stdout) == (2, "")
            assert says in shown.stderr and "add --yes to publish the profile without one" in (
                shown.stderr
            )
            waited, error = shown.stderr.splitlines()[:-1], shown.stderr.splitlines()[-1]
            assert says in error
            assert waited in ([], ["stormcut: Nimbus describes the cluster to a new brain ..."])
            assert brains.nodes.read_profiles() == {}

        refused("no brain leads: start one with")
        brains.start()
        leader = brains.await_leader()
        refused("Nimbus has not asked this brain yet")
        assert (
            "Nimbus has not asked"
            in brains.run("import", "cluster", "--output", str(tmp_path / "problem.json")).stderr
        )
        published = brains.run("publish", str(path), "--yes")
        assert published.returncode == 0
        assert "no preview: " in published.stderr
        await_true(lambda: leader.plan(RUNNING).topologies)

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_withdraws_at_once(self, brains, number):
        process = brains.start()
        brains.await_leader()
        assert stop(process, number) == 0
        assert leader_address(brains.nodes) is None
        assert brains.nodes.client.get_children(brains.nodes.path("election")) == []

    def test_deleted_nodes_come_back(self, brains):
        process = brains.start()
        leader = brains.await_leader()
        plan = leader.plan(NEW)
        await_true(lambda: is_deleted(brains.nodes))
        leader = brains.await_leader()
        await_true(brains.nodes.has_plan)
        assert brains.nodes.read_plan() == plan
        assert leader.plan(NEW) == plan
        assert process.poll() is None

    def test_only_the_leader_node_deleted_comes_back(self, brains):
        process = brains.start()
        brains.await_leader()
        brains.nodes.client.delete(brains.nodes.path("leader"))
        await_true(lambda: leader_address(brains.nodes) is not None)
        await_true(lambda: "the leader node is gone; published again" in process.log())

    @pytest.mark.parametrize(
        "content", [b'{"version": 1, "id": "x", "host": "x", "port": 1}', b"?"]
    )
    def test_a_leader_node_that_another_wrote_is_taken_back(self, brains, content):
        process = brains.start()
        brains.await_leader()
        brains.nodes.client.set(brains.nodes.path("leader"), content)
        await_true(lambda: "the leader node is another's; published again" in process.log())
        await_true(lambda: brains.leads(process))
        assert "a bug in stormcut" not in process.log()

    def test_poison_in_its_nodes_does_not_end_its_leading(self, brains):
        nodes, client = brains.nodes, brains.nodes.client
        nodes.secure()
        for name in ("plan", "profiles/deep", "former/deep", "profiles/up"):
            client.create(nodes.path(name), b"[" * 100_000, makepath=True)
        client.set(nodes.path("profiles/up"), b'{"version": 2, "id": "../../x", "parts": 1}')
        process = brains.start()
        leader = brains.await_leader()
        plan = leader.plan(NEW)
        assert [part.topology for part in plan.topologies] == ["t-1"]
        assert nodes.read_plan() == plan, "the damaged plan is overwritten"
        assert "Traceback" not in process.log()
        assert process.log().count("profile not used") == 2

    @pytest.mark.parametrize("foreign", [False, True])
    def test_a_plan_that_is_damaged_later_is_published_again(self, brains, foreign):
        process = brains.start()
        plan = brains.await_leader().plan(NEW)
        client, path = brains.nodes.client, brains.nodes.path("plan")
        await_true(brains.nodes.has_plan)
        if foreign:
            others = [make_digest_acl("nobody", "x", all=True)]
            await_true(lambda: is_replaced(client, path, b"mine", others))
        else:
            client.set(path, b"\xff[")
        await_true(lambda: "published again" in process.log())
        await_true(brains.nodes.has_plan)
        assert brains.nodes.read_plan() == plan
        assert brains.leader() is not None
        assert "Traceback" not in process.log()

    def test_folders_that_belong_to_others_do_not_end_its_leading(self, brains):
        process = brains.start()
        brains.await_leader()
        for name in ("profiles", "former"):
            path = brains.nodes.path(name)
            brains.nodes.client.create(path, acl=[make_digest_acl("nobody", "x", all=True)])
        await_true(lambda: process.log().count("belongs to others: not used") == 2)
        assert brains.await_leader().plan(NEW)
        assert "Traceback" not in process.log()

    def test_no_secret_in_its_log(self, brains, auth_file):
        process = brains.start()
        brains.await_leader().plan(NEW)
        assert read_auth_file(auth_file).password not in process.log()


@pytest.mark.cluster
class TestStranger:
    """Who reaches the brain's port, and ZooKeeper, but does not know the secret."""

    def test_it_can_neither_ask_nor_answer_nor_push_out_the_history(self, brains):
        process = brains.start()
        leader = brains.await_leader()
        plan = leader.plan(NEW)
        address = leader_address(brains.nodes)
        # The attack: the true fingerprint, if capacities were not in it, of a cluster that is not.
        false = replace(NEW, supervisors=supervisors(3, cpu=1.0))
        assert false.fingerprint() != NEW.fingerprint()
        for seal in (Seal("nobody:x"), Seal("stormcut:guessed")):
            stranger = BrainClient(address["id"], seal, "127.0.0.1", address["port"], 20.0)
            for state in (NEW, false):
                with pytest.raises(InvalidInput, match="does not answer"):
                    stranger.plan(state)
        plain = WriteBuffer()
        BinaryProtocol(plain).write_struct(to_state_struct(false))
        with socket.create_connection(("127.0.0.1", address["port"]), 20) as connection:
            connection.sendall(struct.pack("!i", len(plain.content)) + plain.content)
            connection.settimeout(20)
            assert connection.recv(1) == b""
        await_true(lambda: "is not sealed by the secret" in process.log())
        assert brains.nodes.read_plan() == plan
        assert len(brains.nodes.read_history(10)) == 1
        assert leader.plan(NEW) == plan

    def test_it_cannot_write_where_the_brain_reads(self, brains, zookeeper):
        brains.start()
        brains.await_leader()
        with connected(zookeeper, Credentials("nobody", "x")) as client:
            for name in ("leader", "plan", "profiles", "former", "history/x", "election"):
                with pytest.raises((NoAuthError, NoNodeError)):
                    client.set(brains.nodes.path(name), b"mine")
                with pytest.raises((NoAuthError, NoNodeError)):
                    client.create(f"{brains.nodes.path(name)}/mine", b"mine")
            with pytest.raises(NoAuthError):
                client.create(brains.nodes.path("mine"), b"mine")
            with pytest.raises(NoAuthError):
                client.delete(brains.nodes.path("leader"))


@pytest.mark.cluster
class TestRotate:
    def test_all_that_is_known_changes_to_another_secret(self, brains, auth_file, tmp_path):
        process = brains.start()
        leader = brains.await_leader()
        plan = leader.plan(RUNNING)
        profile = profile_of(RUNNING.topologies[0])
        brains.nodes.write_profile(profile)
        write_undo(brains.nodes, "t-1", Undo(RUNNING.topologies[0].assignment))
        orders = Orders(is_paused=True, drained=frozenset({"n1"}))
        change_orders(brains.nodes, lambda _: orders)
        # The hour's budget, and which spouts rest, as a brain keeps them.
        kept = {
            "restarts": {"version": 1, "restarts": [[1.0, "t-1", 4]]},
            "deactivated": {"version": 1, "topologies": ["t-1"]},
            "reviews": {"version": 1, "reviews": []},
        }
        for name, document in kept.items():
            brains.nodes.write_marked(name, document)
        fresh = tmp_path / "new.auth"
        fresh.write_text("stormcut:neu\n")
        fresh.chmod(0o600)
        refused = brains.run("rotate", "--new-auth-file", str(fresh))
        assert refused.returncode == 2
        assert "stop all brains first" in refused.stderr
        stop(process)
        await_true(lambda: not brains.nodes.is_led())
        done = brains.run("rotate", "--new-auth-file", str(fresh))
        assert done.returncode == 0, done.stderr
        with pytest.raises(InvalidInput, match="belongs to other credentials"):
            brains.nodes.read_plan()
        with connected(brains.environment["STORMCUT_ZOOKEEPER"], read_auth_file(fresh)) as client:
            nodes = StormcutNodes(client, brains.nodes.root)
            assert nodes.read_plan() == plan
            assert nodes.read_profiles() == {"t-1": profile}
            assert read_undos(nodes) == {"t-1": Undo(RUNNING.topologies[0].assignment)}
            assert read_orders(nodes) == orders
            for name, document in kept.items():
                assert nodes.read_marked(name, name, 1) == document
            assert len(nodes.read_history(10)) == 1
        again = brains.run("rotate", "--new-auth-file", str(fresh), "--auth-file", str(fresh))
        assert again.returncode == 2
        assert "holds the same as" in again.stderr


@pytest.mark.cluster
class TestTwoBrains:
    def test_a_standby_refuses_and_takes_over_a_killed_leader(self, brains, record_property):
        brains.start()
        first = brains.await_leader()
        standby = brains.start()
        named = re.search(r"brain (\S+) listens on 127\.0\.0\.1:(\d+)", standby.log())
        client = BrainClient(named[1], brains.nodes.seal, "127.0.0.1", int(named[2]))
        with pytest.raises(InvalidInput, match="not the leader"):
            client.plan(NEW)
        plan = first.plan(NEW)
        brains.leading_process().kill()
        seconds = await_true(lambda: brains.leader() is not None)
        print(f"took over after {seconds:.1f} s")
        record_property("takeover_seconds", round(seconds, 1))
        assert brains.leading_process() is standby
        after = applied(NEW, plan.topologies)
        assert brains.leader().plan(after) == plan

    def test_a_leader_that_stops_cleanly_is_followed_at_once(self, brains):
        brains.start()
        brains.await_leader()
        brains.start()
        stop(brains.leading_process())
        assert await_true(lambda: brains.leader() is not None) < 5

    def test_a_leader_that_froze_steps_down_when_it_wakes(self, brains):
        frozen = brains.start()
        brains.await_leader()
        other = brains.start()
        os.kill(frozen.pid, signal.SIGSTOP)
        # Without asking who leads: the frozen one would let the question wait.
        await_true(lambda: brains.leads(other))
        os.kill(frozen.pid, signal.SIGCONT)
        await_true(lambda: "session lost; stepping down" in frozen.log())
        assert brains.leading_process() is other
        stop(other)
        await_true(lambda: brains.leader() is not None)
        assert brains.leading_process() is frozen


@pytest.mark.cluster
def test_zookeeper_goes_and_comes_back(auth_file, tmp_path):
    with (
        running_zookeeper(tmp_path / "zookeeper") as server,
        brains_on(server.address, auth_file, tmp_path) as brains,
    ):
        process = brains.start()
        leader = brains.await_leader()
        plan = leader.plan(NEW)
        server.end()
        await_true(lambda: "connection interrupted" in process.log())
        with pytest.raises(InvalidInput, match="not the leader"):
            leader.plan(RUNNING)
        server.start()
        assert brains.await_plan(applied(NEW, plan.topologies)) == plan
        server.end()
        assert stop(process) == 0


@pytest.mark.cluster
class TestTls:
    """As on another machine: whoever comes has a certificate."""

    def test_it_answers_who_has_a_certificate(self, brains, tls_site, tmp_path):
        folder = tls_site.folder
        process = brains.start("--tls", str(folder / "brain"), "--http", "127.0.0.1:0")
        assert f"with TLS as in {folder / 'brain'}" in process.log()
        nimbus = brains.await_leader(tls_site.tls("nimbus"))
        plan = nimbus.plan(FOUR_ASKED)
        brains.environment["STORMCUT_TLS"] = str(folder / "operate")
        assert json.loads(brains.run("plan", "--json").stdout)["mode"] == "automatic"
        path = tmp_path / "profile.json"
        write_profile(path, profile_of(FOUR_ASKED.topologies[0]))
        published = brains.run("publish", str(path), "--yes")
        assert published.returncode == 0, published.stderr
        await_true(lambda: "profile of t-1 read" in process.log())
        assert nimbus.plan(FOUR_ASKED) != plan
        (pages,) = set(re.findall(r"https://127[.]0[.]0[.]1:\d+", process.log()))
        with pytest.raises(URLError, match="certificate verify failed"):
            urlopen(pages, timeout=PATIENCE_S)

    def test_a_viewer_sees_without_zookeeper_and_secret_and_does_nothing(self, brains, tls_site):
        brains.start("--tls", str(tls_site.folder / "brain"))
        brains.await_leader(tls_site.tls("nimbus")).plan(FOUR_ASKED)
        address = leader_address(brains.nodes)
        for name in ("STORMCUT_ZOOKEEPER", "STORMCUT_AUTH_FILE"):
            del brains.environment[name]
        brains.environment["STORMCUT_TLS"] = str(tls_site.folder / "view")
        there = ("--brain", f"{address['host']}:{address['port']}")
        status = brains.run("status", *there, "--json")
        assert json.loads(status.stdout)["topologies"], status.stderr
        assert brains.run("plan", *there).returncode == 0
        for command in (("pause",), ("undo", "t-1"), ("status",)):
            refused = brains.run(*command)
            assert refused.returncode == 2
            assert "Missing option '--zookeeper'" in refused.stderr
        brains.environment["STORMCUT_TLS"] = str(tls_site.folder / "operate")
        refused = brains.run("status", *there)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "does not answer" in refused.stderr

    def test_a_brain_without_a_brains_certificate_does_not_begin(self, brains, tls_site):
        ended = brains.run("brain", "--tls", str(tls_site.folder / "view"))
        assert ended.returncode == 2
        assert "but must have brain" in ended.stderr


@pytest.mark.cluster
def test_zookeeper_comes_back_without_its_data(auth_file, tmp_path):
    with (
        running_zookeeper(tmp_path / "zookeeper") as server,
        brains_on(server.address, auth_file, tmp_path) as brains,
    ):
        processes = [brains.start(), brains.start()]
        brains.await_leader().plan(NEW)
        server.end()
        await_true(lambda: all("connection interrupted" in each.log() for each in processes))
        server.forget()
        server.start()
        # The client of this test has the same to overcome.
        await_true(lambda: brains.nodes.client.connected)
        assert brains.await_plan(NEW).topologies
        assert [stop(each) for each in processes] == [0, 0]


@pytest.mark.cluster
def test_nothing_to_show_is_said(brains):
    brains.nodes.secure()
    assert brains.run("history").stdout == "no plans yet\n"
    assert json.loads(brains.run("history", "--json").stdout) == []


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--bind", "0.0.0.0"], "give one address, not all"),
        (["--bind", "192.0.2.1"], "--insecure-bind"),
        (["--bind", "no such host"], "no address"),
        (["--algorithm", "magic"], "no algorithm 'magic'"),
        (["--option", "x"], "KEY=VALUE"),
        (["--option", "x=1"], "option x"),
        (["--http", "0.0.0.0:9464"], "--http 0.0.0.0:9464: other machines would reach it"),
        (["--http", "[::]:9464"], "--http [::]:9464: other machines would reach it"),
        (["--http", "192.0.2.1:0"], "other machines would reach it"),
        (["--http", "9464"], "'9464' is not HOST:PORT, such as 127.0.0.1:9464"),
        (["--http", "127.0.0.1:65536"], "is not HOST:PORT"),
        (["--http", "::1:9464"], "is not HOST:PORT"),
        (["--http", "no such host:9464"], "no such host:9464: is no address"),
        (["--tls", "/missing"], "/missing/ca.pem: cannot be read: No such file"),
        (["--log-format", "xml"], "'xml' is not one of 'text', 'json'"),
        (["--http", "localhost:0", "--log-format", "json"], "create it with"),
        (["--http", "[::1]:0"], "create it with"),
        ([], "create it with"),
    ],
)
def test_a_mistake_is_one_line_and_exit_2(stormcut, tmp_path, more, says):
    missing = tmp_path / "auth"
    code, _, err = stormcut("brain", "--zookeeper", "127.0.0.1:1", "--auth-file", missing, *more)
    assert code == 2
    assert says in err
    assert len(err.splitlines()) == 1


def test_publish_wants_exactly_one_thing(stormcut, auth_file):
    code, _, err = stormcut("publish", "--zookeeper", "127.0.0.1:1", "--auth-file", auth_file)
    assert code == 2
    assert "either PROFILE or --withdraw" in err


@pytest.mark.parametrize("command", ["brain", "publish", "undo", "history"])
def test_help_has_an_example(stormcut, command):
    _, out, _ = stormcut(command, "--help")
    assert "Example:" in out
