"""The plugin's jar as Nimbus calls it, and brains with TLS: real Java, sockets and ZooKeeper."""

import json
import re
import socket
import subprocess
import uuid
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree, rmtree

import pytest
from conftest_zookeeper import LOG4J
from tls_site import UNTRUSTED

from stormcut.adapters.machine.home import plugin_jars, storm_java, storm_lib
from stormcut.adapters.thrift.brain import BrainServer
from stormcut.adapters.tls.channel import Role, Tls
from stormcut.adapters.zookeeper.client import connected, read_auth_file
from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.model.cluster import Slot, Worker
from stormcut.model.plan import Plan, TopologyPlan

pytestmark = pytest.mark.cluster

SOURCE = Path(__file__).parents[1] / "data" / "shim" / "ShimRounds.java"
#: The plan puts both executors into one worker; Storm's scheduler starts the two asked for.
PLANNED, STORMS = "[2]", "[1, 2]"
AMPLE_MS = 10_000


class Packer:
    leads = True

    def plan(self, state):
        workers = (Worker(Slot("n", 2), (1, 2)),)
        topologies = (TopologyPlan("a", workers, "cut", "for the test"),)
        return Plan(uuid.uuid4().hex, state.fingerprint(), 5, topologies, ())


class Nimbus:
    """Rounds of the shim in one process; ``said`` is what it logged in the last one."""

    def __init__(self, process, zookeeper, auth_file, nodes):
        self._process = process
        self._nodes = nodes
        self._conf = {
            "stormcut.zookeeper.port": zookeeper.rpartition(":")[2],
            "stormcut.zookeeper.root": nodes.root,
            "stormcut.zookeeper.auth.file": auth_file,
        }
        self.said = ""

    def lead(self, port):
        """Make a brain at a port the leader."""
        leader = {"version": 1, "id": "b", "host": "127.0.0.1", "port": port}
        path, data = self._nodes.path("leader"), json.dumps(leader).encode()
        if not self._nodes.client.exists(path):
            self._nodes.client.create(path)
        self._nodes.client.set(path, data)

    def round(self, tls=None, deadline_ms=AMPLE_MS):
        """Return the ports used after one round of a new scheduler."""
        conf = {**self._conf, "stormcut.brain.deadline.ms": deadline_ms}
        if tls is not None:
            conf["stormcut.brain.tls.folder"] = tls
        return self._asked(" ".join(f"{key}={value}" for key, value in conf.items()))

    def again(self):
        """Return the ports used after one more round of the same scheduler."""
        return self._asked("")

    def _asked(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        self.said = ""
        for told in self._process.stdout:
            if found := re.match(r"ROUND (\d+) (.*)", told):
                self.took_ms = int(found[1])
                return found[2]
            self.said += told
        raise AssertionError(f"Nimbus ended: {self.said}")


@pytest.fixture(scope="module")
def nimbus_process(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shim")
    classes = f"{plugin_jars().scheduler}:{storm_lib()}/*"
    (folder / "log4j2.xml").write_text(LOG4J.replace("SYSTEM_ERR", "SYSTEM_OUT"))
    subprocess.run(
        ["javac", "-nowarn", "--release", "8", "-cp", classes, "-d", folder, SOURCE],
        check=True,
        capture_output=True,
    )
    process = subprocess.Popen(
        [
            storm_java() / "bin" / "java",
            "-Xmx128m",
            f"-Dlog4j.configurationFile={folder / 'log4j2.xml'}",
            "-cp",
            f"{folder}:{classes}",
            "ShimRounds",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


@pytest.fixture
def nimbus(nimbus_process, zookeeper, auth_file):
    with connected(zookeeper, read_auth_file(auth_file)) as client:
        nodes = StormcutNodes(client, f"/shim-{uuid.uuid4().hex}")
        nodes.secure()
        yield Nimbus(nimbus_process, zookeeper, auth_file, nodes)


@contextmanager
def brain(nimbus, tls):
    server = BrainServer(Packer(), "b", nimbus._nodes.seal, "127.0.0.1", 0, tls=tls)
    server.start()
    try:
        nimbus.lead(server.port)
        yield
    finally:
        server.close()


def test_nimbus_and_brain_with_good_certificates(nimbus, tls_site):
    with brain(nimbus, tls_site.tls("brain")):
        assert nimbus.round(tls_site.folder / "nimbus") == PLANNED, nimbus.said
        assert "WARN" not in nimbus.said


@pytest.mark.parametrize("kind", UNTRUSTED)
def test_an_untrusted_nimbus_gets_no_plan_and_says_why(nimbus, tls_site, kind):
    alert = {"foreign": "unknown_ca"}.get(kind, f"certificate_{kind}")
    with brain(nimbus, tls_site.tls("brain")):
        assert nimbus.round(tls_site.folder / f"{kind}-nimbus") == STORMS
        assert f"alert: {alert}" in nimbus.said


BAD_BRAINS = {
    "expired": "validity check failed",
    "revoked": "Certificate has been revoked",
    "foreign": "unable to find valid certification path",
}


@pytest.mark.parametrize("kind", UNTRUSTED)
def test_an_untrusted_brain_is_not_asked(nimbus, tls_site, kind):
    with brain(nimbus, tls_site.tls(f"{kind}-brain")):
        assert nimbus.round(tls_site.folder / "nimbus") == STORMS
        assert BAD_BRAINS[kind] in nimbus.said


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.NIMBUS])
def test_another_role_gets_no_plan(nimbus, tls_site, role):
    with brain(nimbus, tls_site.tls("brain")):
        assert nimbus.round(tls_site.folder / role) == STORMS
        assert f"a certificate of the role {role} may not ask for plan" in nimbus.said


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.BRAIN])
def test_no_other_certificate_passes_for_a_brains(nimbus, tls_site, role):
    with brain(nimbus, tls_site.tls(role)):
        assert nimbus.round(tls_site.folder / "nimbus") == STORMS
        assert "Extended key usage does not permit use for TLS server" in nimbus.said


def test_the_role_counts_where_the_use_would_do(nimbus, tls_site):
    with brain(nimbus, tls_site.tls("strange-brain")):
        assert nimbus.round(tls_site.folder / "nimbus") == STORMS
        assert "its certificate is not of the role brain" in nimbus.said


def test_two_authorities_count_while_one_follows_the_other(nimbus, tls_site, tmp_path):
    both = tls_site.of_two_authorities(tmp_path)
    with brain(nimbus, Tls(both["new-brain"])):
        for name in ("old-nimbus", "new-nimbus"):
            assert nimbus.round(both[name]) == PLANNED, nimbus.said
        assert nimbus.round(both["new-gone"]) == STORMS


def test_plain_and_tls_do_not_meet(nimbus, tls_site):
    with brain(nimbus, tls_site.tls("brain")):
        assert nimbus.round() == STORMS
        assert "hung up" in nimbus.said
        assert "does it want TLS? stormcut.brain.tls.folder is not set" in nimbus.said
    with brain(nimbus, None):
        assert nimbus.round(tls_site.folder / "nimbus") == STORMS
        assert "cannot be talked to" in nimbus.said


def test_a_folder_that_cannot_be_used_means_no_plan_never_a_plain_connection(nimbus, tls_site):
    with brain(nimbus, None):
        assert nimbus.round() == PLANNED
        for folder in (tls_site.folder / "missing", 7):
            assert nimbus.round(folder) == STORMS
            assert "stormcut.brain.tls.folder" in nimbus.said
            assert "cannot be used: " in nimbus.said


def test_a_key_that_others_may_read_is_refused(nimbus, tls_site, tmp_path):
    mine = tmp_path / "mine"
    copytree(tls_site.folder / "nimbus", mine)
    (mine / "key.pem").chmod(0o644)
    with brain(nimbus, tls_site.tls("brain")):
        assert nimbus.round(mine) == STORMS
        assert "chmod 600" in nimbus.said


@pytest.mark.parametrize("begins", [b"", b"\x16\x03\x03\x40\x00"], ids=["silent", "record"])
def test_a_handshake_that_hangs_costs_the_deadline(nimbus, tls_site, begins):
    deadline_ms = 1000
    with socket.create_server(("127.0.0.1", 0)) as listener:
        nimbus.lead(listener.getsockname()[1])
        assert nimbus.round(tls_site.folder / "nimbus", deadline_ms) == STORMS
        with listener.accept()[0] as connection:
            connection.sendall(begins)
            # The brain's socket alone would give up after ten deadlines.
            assert nimbus.took_ms < 5 * deadline_ms
            assert "the brain did not answer within 1000 ms" in nimbus.said
            assert nimbus.again() == STORMS
            assert nimbus.took_ms < 5 * deadline_ms
            assert "an earlier round's request still waits for the brain" in nimbus.said


def test_revoked_and_renewed_certificates_count_without_a_restart(nimbus, tls_site, tmp_path):
    mine = tmp_path / "mine"
    copytree(tls_site.folder / "nimbus", mine)
    tls_site.authority.issue("brain-of-a-day", Role.BRAIN, [], 1)
    with brain(nimbus, tls_site.tls("brain-of-a-day")):
        assert nimbus.round(mine) == PLANNED
        tls_site.authority.revoke("brain-of-a-day")
        (mine / "crl.pem").write_bytes((tls_site.folder / "crl.pem").read_bytes())
        nimbus.again()
        assert "Certificate has been revoked" in nimbus.said
    with brain(nimbus, tls_site.tls("brain")):
        rmtree(mine)
        tls_site.authority.issue("nimbus-of-a-day", Role.NIMBUS, [], 1)
        copytree(tls_site.folder / "nimbus-of-a-day", mine)
        assert nimbus.again() == PLANNED
        assert "WARN" not in nimbus.said
