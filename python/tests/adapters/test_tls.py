"""Mutual TLS over real sockets: who is let in, as what, and who is not."""

import http.client
import json
import socket
import ssl
import threading
from contextlib import contextmanager, suppress
from shutil import copytree

import pytest
from brain_clusters import supervisors, topology
from conftest_zookeeper import PATIENCE_S, await_true
from tls_site import UNTRUSTED

from stormcut.adapters.http import server as http_server
from stormcut.adapters.http.pages import json_page
from stormcut.adapters.http.server import MAX_CLIENTS, serving
from stormcut.adapters.thrift import brain as thrift_brain
from stormcut.adapters.thrift.brain import ANY_BRAIN, KINDS, MAY_ASK, VIEWERS, BrainServer
from stormcut.adapters.thrift.client import BrainClient
from stormcut.adapters.thrift.seal import Seal
from stormcut.adapters.tls import channel
from stormcut.adapters.tls.channel import Role, Tls
from stormcut.model.cluster import ClusterState, Described
from stormcut.model.errors import InvalidInput
from stormcut.model.plan import Plan

SEAL = Seal("stormcut:geheim")
STATE = ClusterState(supervisors(2), (topology("t"),))


class Brain:
    """Answers every question."""

    leads = True

    def plan(self, state):
        return Plan("p", state.fingerprint(), 5, (), ())

    def described(self):
        return Described(STATE, 7)

    def preview(self, topology, profile, former, override=None):
        return {"topology": topology}

    def outlook(self):
        return {}


QUESTIONS = {
    "plan": lambda client: client.plan(STATE),
    "last_state": lambda client: client.described(),
    "preview": lambda client: client.preview("t", None, None),
    "outlook": lambda client: client.outlook(),
    "health": lambda client: client.health(),
}


@contextmanager
def answering(tls):
    brain = Brain()
    server = BrainServer(brain, "b", SEAL, "127.0.0.1", 0, brain, tls=tls)
    server.start()
    try:
        yield server
    finally:
        server.close()


@pytest.fixture
def server(tls_site):
    with answering(tls_site.tls("brain")) as server:
        yield server


def client_of(server, tls, seal=SEAL, brain="b", seconds=PATIENCE_S):
    return BrainClient(brain, seal, "127.0.0.1", server.port, seconds, tls)


def test_every_kind_of_question_is_tried():
    assert set(QUESTIONS) == set(KINDS)
    assert set(MAY_ASK) == set(Role)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("role", Role)
def test_a_role_may_ask_what_it_is_for(server, tls_site, role, kind):
    client = client_of(server, tls_site.tls(role))
    if kind in MAY_ASK[role]:
        assert QUESTIONS[kind](client) is not None
    else:
        with pytest.raises(InvalidInput, match=f"role {role} may not ask for {kind}"):
            QUESTIONS[kind](client)


def test_only_nimbus_may_feed_a_state_and_only_readers_read():
    assert [role for role in Role if "plan" in MAY_ASK[role]] == [Role.NIMBUS]
    assert not {"preview", "outlook", "last_state"} & (MAY_ASK["nimbus"] | MAY_ASK["brain"])


def test_who_only_looks_takes_no_seat_from_nimbus(tls_site, monkeypatch, caplog):
    """64 viewers who waited for what became of a plan once kept Nimbus from every answer."""
    monkeypatch.setattr(thrift_brain, "MAX_CLIENTS", 16)
    monkeypatch.setattr(thrift_brain, "MAX_OF_ROLE", 4)
    settled = threading.Event()
    monkeypatch.setattr(Brain, "outlook", lambda self: settled.wait() and {})

    def look():
        with suppress(InvalidInput):
            client_of(server, tls_site.tls("view"), VIEWERS, ANY_BRAIN).outlook()

    with answering(tls_site.tls("brain")) as server:
        viewers = [threading.Thread(target=look) for _ in range(12)]
        try:
            for each in viewers:
                each.start()
            await_true(lambda: caplog.text.count("others of the role view ask at once") >= 8)
            assert QUESTIONS["plan"](client_of(server, tls_site.tls("nimbus"))).id == "p"
            assert QUESTIONS["last_state"](client_of(server, tls_site.tls("operate")))
        finally:
            settled.set()
            for each in viewers:
                each.join()


def test_a_viewer_needs_no_secret_and_nobody_else_does_without(server, tls_site, caplog):
    viewer = client_of(server, tls_site.tls("view"), VIEWERS, ANY_BRAIN)
    assert viewer.described() == Described(STATE, 7)
    with pytest.raises(InvalidInput, match="may not ask for plan"):
        viewer.plan(STATE)
    for role in set(Role) - {Role.VIEW}:
        with pytest.raises(InvalidInput, match="does not answer"):
            client_of(server, tls_site.tls(role), VIEWERS, ANY_BRAIN).health()
        await_true(lambda: "sealed by another secret" in caplog.text)
        caplog.clear()
    with pytest.raises(InvalidInput, match="does not answer"):
        client_of(server, tls_site.tls("view"), Seal("stormcut:guessed")).health()


@pytest.mark.parametrize("kind", UNTRUSTED)
class TestUntrusted:
    def test_a_client_is_refused_and_told_why(self, server, tls_site, kind, caplog):
        alert = {"foreign": "unknown ca"}.get(kind, f"certificate {kind}")
        with pytest.raises(InvalidInput, match=f"does not answer.*alert {alert}"):
            client_of(server, tls_site.tls(f"{kind}-nimbus")).plan(STATE)
        await_true(lambda: f"ignored: TLS: {UNTRUSTED[kind]}" in caplog.text)

    def test_a_brain_is_not_asked(self, tls_site, kind):
        with (
            answering(tls_site.tls(f"{kind}-brain")) as server,
            pytest.raises(InvalidInput, match=UNTRUSTED[kind]),
        ):
            client_of(server, tls_site.tls("nimbus")).plan(STATE)


def test_who_is_refused_reads_why_also_after_a_long_question(server, tls_site, monkeypatch):
    monkeypatch.setattr(channel, "PARTING_SECONDS", PATIENCE_S)
    longer_than_buffers = "t" * 16_000_000
    with pytest.raises(InvalidInput, match="alert certificate revoked"):
        client_of(server, tls_site.tls("revoked-view")).preview(longer_than_buffers, None, None)


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.BRAIN])
def test_no_other_certificate_passes_for_a_brains(tls_site, role):
    """By its use already; `test_the_role_counts_where_the_use_would_do` has the role alone."""
    with (
        answering(tls_site.tls(role)) as server,
        pytest.raises(InvalidInput, match="unsuitable certificate purpose"),
    ):
        client_of(server, tls_site.tls("nimbus")).plan(STATE)


@pytest.mark.parametrize("role", ["nimbus", None])
def test_the_role_counts_where_the_use_would_do(tls_site, role, monkeypatch):
    if role is not None:
        names = (("URI", f"urn:stormcut:role:{role}"),)
        monkeypatch.setattr(ssl.SSLSocket, "getpeercert", lambda self: {"subjectAltName": names})
    words = "of the role nimbus, not brain" if role else "names no role of stormcut"
    with (
        answering(tls_site.tls("brain" if role else "strange-brain")) as server,
        pytest.raises(InvalidInput, match=words),
    ):
        client_of(server, tls_site.tls("nimbus")).plan(STATE)


@pytest.mark.parametrize(
    "names", [(), (("DNS", "brain"), ("URI", "urn:stormcut:role:king"), ("URI", "x"))]
)
def test_a_certificate_without_a_role_is_none(server, tls_site, names, monkeypatch, caplog):
    monkeypatch.setattr(ssl.SSLSocket, "getpeercert", lambda self: {"subjectAltName": names})
    with pytest.raises(InvalidInput, match="names no role"):
        client_of(server, tls_site.tls("nimbus")).plan(STATE)
    await_true(lambda: "ignored: TLS: its certificate names no role" in caplog.text)


def without_certificate(port, least=ssl.TLSVersion.TLSv1_2, most=ssl.TLSVersion.TLSv1_3):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version, context.maximum_version = least, most
    connection = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
    with context.wrap_socket(connection) as secured:
        secured.sendall(b"GET /status HTTP/1.0\r\n\r\n")
        return secured.recv(1)


def test_without_a_certificate_nothing_is_read(server, caplog):
    with pytest.raises(ssl.SSLError, match="certificate required"):
        without_certificate(server.port)
    await_true(lambda: "TLS: peer did not return a certificate" in caplog.text)


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_what_is_older_than_tls_1_2_is_refused(server, caplog):
    old = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        without_certificate(server.port, *old)
    await_true(lambda: "TLS: unsupported protocol" in caplog.text)


def test_plain_clients_get_nothing_from_a_brain_with_tls(server, caplog):
    with pytest.raises(InvalidInput, match="does not answer"):
        client_of(server, None).plan(STATE)
    await_true(lambda: "ignored: TLS: " in caplog.text)


def test_a_client_with_tls_tells_a_plain_brain_nothing(tls_site, caplog):
    with (
        answering(None) as server,
        pytest.raises(InvalidInput, match="does not answer: TLS: "),
    ):
        client_of(server, tls_site.tls("nimbus"), seconds=20.0).plan(STATE)
    await_true(lambda: "the other side speaks TLS" in caplog.text)


@pytest.mark.slow
def test_hanging_handshakes_hinder_nobody_and_end(tls_site, monkeypatch, caplog):
    monkeypatch.setattr(thrift_brain, "CLIENT_SECONDS", 1.0)
    with answering(tls_site.tls("brain")) as server:
        hanging = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(20)]
        try:
            for each in hanging[::2]:
                each.sendall(b"\x16\x03\x01")  # a handshake's first bytes
            assert client_of(server, tls_site.tls("nimbus")).plan(STATE).id == "p"
            for each in hanging:
                each.settimeout(PATIENCE_S)
                with suppress(ConnectionError):
                    assert each.recv(1) == b""
        finally:
            for each in hanging:
                each.close()
        await_true(lambda: caplog.text.count("no handshake in time") == len(hanging))


def test_a_server_whose_handshake_hangs_costs_a_client_its_time_alone(tls_site):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = BrainClient(
            "b", SEAL, *silent.getsockname(), seconds=0.2, tls=tls_site.tls("nimbus")
        )
        with pytest.raises(InvalidInput, match="no handshake in time"):
            client.plan(STATE)


def test_revocations_and_new_certificates_count_without_a_restart(tls_site, tmp_path):
    """The folder of the machine is a copy, as on another one."""
    mine = tmp_path / "mine"
    copytree(tls_site.folder / "brain", mine)
    site = tls_site.authority
    site.issue("short-lived", Role.NIMBUS, [], 1)
    client_tls = tls_site.tls("short-lived")
    with answering(Tls(mine)) as server:
        client = client_of(server, client_tls)
        assert client.plan(STATE).id == "p"
        site.revoke("short-lived")
        assert client.plan(STATE).id == "p"
        (mine / "crl.pem").write_bytes((tls_site.folder / "crl.pem").read_bytes())
        with pytest.raises(InvalidInput, match="alert certificate revoked"):
            client.plan(STATE)
        site.issue("brain-2", Role.BRAIN, [], 1)
        for name in ("certificate.pem", "key.pem"):
            (mine / name).write_bytes((tls_site.folder / "brain-2" / name).read_bytes())
        assert client_of(server, tls_site.tls("nimbus")).plan(STATE).id == "p"


def test_two_authorities_count_while_one_follows_the_other(tls_site, tmp_path):
    both = tls_site.of_two_authorities(tmp_path)
    with answering(Tls(both["new-brain"])) as server:
        for name in ("old-nimbus", "new-nimbus"):
            assert client_of(server, Tls(both[name])).plan(STATE).id == "p"
        with pytest.raises(InvalidInput, match="alert certificate revoked"):
            client_of(server, Tls(both["new-gone"])).plan(STATE)


def test_a_brain_that_cannot_read_its_list_lets_nobody_in(tls_site, tmp_path, caplog):
    mine = tmp_path / "mine"
    copytree(tls_site.folder / "brain", mine)
    with answering(Tls(mine)) as server:
        (mine / "crl.pem").write_text("nothing")
        with pytest.raises(InvalidInput, match="does not answer"):
            client_of(server, tls_site.tls("nimbus")).plan(STATE)
        await_true(lambda: "crl.pem: cannot be used for TLS" in caplog.text)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("ca.pem", lambda path: path.unlink(), "cannot be read: No such file"),
        ("crl.pem", lambda path: path.unlink(), "cannot be read: No such file"),
        ("key.pem", lambda path: path.chmod(0o640), "chmod 600"),
        ("key.pem", lambda path: path.write_text("x"), "cannot be used for TLS"),
        ("certificate.pem", lambda path: path.write_text("x"), "cannot be used for TLS"),
    ],
)
def test_a_folder_that_cannot_be_used_is_named(tls_site, tmp_path, name, change, words):
    mine = tmp_path / "mine"
    copytree(tls_site.folder / "brain", mine)
    change(mine / name)
    with pytest.raises(InvalidInput, match=words) as caught:
        Tls(mine)
    assert caught.value.where.startswith(str(mine))


def test_a_brain_begins_with_its_own_certificate_alone(tls_site):
    tls_site.tls("brain").check_role(Role.BRAIN)
    with pytest.raises(InvalidInput, match="but must have brain"):
        tls_site.tls("view").check_role(Role.BRAIN)
    with pytest.raises(InvalidInput, match="is valid from"):
        tls_site.tls("expired-brain").check_role(Role.BRAIN)


class TestPages:
    @pytest.fixture
    def port(self, tls_site):
        pages = lambda path: json_page(200, {"path": path})  # noqa: E731
        with serving(pages, "127.0.0.1", 0, tls_site.tls("brain")) as port:
            yield port

    def get(self, port, tls_site, name):
        folder = tls_site.folder / name
        # As any other program: host names count here.
        context = ssl.create_default_context(cafile=folder / "ca.pem")
        context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
        connection = http.client.HTTPSConnection(
            "localhost", port, timeout=PATIENCE_S, context=context
        )
        try:
            connection.request("GET", "/status")
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    @pytest.mark.parametrize("role", ["view", "operate"])
    def test_readers_are_shown_pages(self, port, tls_site, role):
        assert self.get(port, tls_site, role) == {"path": "/status"}

    @pytest.mark.parametrize("role", ["nimbus", "brain"])
    def test_others_are_not(self, port, tls_site, role, caplog):
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            self.get(port, tls_site, role)
        await_true(lambda: f"role {role} is shown nothing" in caplog.text)

    @pytest.mark.parametrize("kind", UNTRUSTED)
    def test_nor_is_who_is_not_trusted(self, port, tls_site, kind, caplog):
        with pytest.raises(ssl.SSLError, match="alert"):
            self.get(port, tls_site, f"{kind}-view")
        await_true(lambda: f"ignored: TLS: {UNTRUSTED[kind]}" in caplog.text)

    def test_nor_who_has_no_certificate_or_speaks_no_tls(self, port, caplog):
        with pytest.raises(ssl.SSLError, match="certificate required"):
            without_certificate(port)
        plain = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            plain.request("GET", "/status")
            plain.getresponse()
        plain.close()
        await_true(lambda: "ignored: TLS: http request" in caplog.text)

    def test_hanging_handshakes_have_to_go_when_others_come(self, port, tls_site, monkeypatch):
        monkeypatch.setattr(http_server, "CLIENT_SECONDS", PATIENCE_S)
        address = ("127.0.0.1", port)
        hanging = [socket.create_connection(address) for _ in range(2 * MAX_CLIENTS)]
        try:
            for each in hanging[:MAX_CLIENTS]:
                each.settimeout(PATIENCE_S)
                with suppress(ConnectionError):
                    assert each.recv(1) == b""
            assert self.get(port, tls_site, "view") == {"path": "/status"}
        finally:
            for each in hanging:
                each.close()
        await_true(lambda: threading.active_count() < MAX_CLIENTS)
