"""A brain as it is seen over HTTP: real sockets, a real brain."""

import http.client
import json
import logging
import random
import re
import socket
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest
import yaml
from brain_clusters import applied, dealt, profile_of, supervisors, topology
from conftest_zookeeper import PATIENCE_S, await_true
from damage import damaged, little_memory, messages
from prometheus_client.parser import text_string_to_metric_families
from simulated import SimulatedClock, ids

from stormcut.adapters.http import server as server_module
from stormcut.adapters.http.counters import Counters
from stormcut.adapters.http.measured import MeasuredMetrics
from stormcut.adapters.http.pages import Pages
from stormcut.adapters.http.server import MAX_CLIENTS, serving
from stormcut.adapters.http.view import View
from stormcut.adapters.machine.home import checkout
from stormcut.control.decide.adviser import Settings
from stormcut.control.observe.observer import Seen
from stormcut.control.orders import NO_ORDERS, Orders
from stormcut.control.ports import Unavailable
from stormcut.control.standing import Standing
from stormcut.model.cluster import ClusterState, Slot
from stormcut.model.errors import InvalidInput
from stormcut.profile.measured import Measured

SLOTS = [Slot(f"n{i}", 6700) for i in range(3)]
TAXI = replace(dealt(topology("taxi-1-17", (2, 2)), SLOTS), name="taxi")
STATE = ClusterState(supervisors(3), (TAXI, replace(topology("new-2-18"), name="new")))
PROFILE = replace(profile_of(TAXI), to_epoch_s=1_700_000_000 - 60)
SIZED = replace(
    PROFILE, traffic=tuple(replace(each, bytes_per_tuple=100.0) for each in PROFILE.traffic)
)

MEASURED = Measured(
    TAXI.id, 0, 60, 60, 100.0, 40.0, 50.0, 50.0, 0.0, 200.0, 0, 5.0, 3, 3, 150.0, ()
)


class Site:
    """A brain, all that is around it in memory, and its pages on a real port."""

    def __init__(self):
        self.clock, self.known, self.plan = SimulatedClock(), {}, None
        self.ordered = NO_ORDERS
        self.leads = self.in_session = self.is_published = True
        self.counters = Counters(self.clock)
        self.standing = Standing(Settings(), self, self, self.clock, ids(), listener=self.counters)
        view = View("b-1", "cut", self.standing, self.counters, lambda: self.in_session, self.clock)
        self.pages = Pages(view, self.counters)
        self.seen = {TAXI.id: Seen(MEASURED, time.time())}
        self.counters.registry.register(MeasuredMetrics(lambda: True, lambda: self.seen))

    def last_plan(self):
        return self.plan

    def restarts(self):
        return ()

    def publish(self, plan, record):
        if not self.is_published:
            raise Unavailable("away", plan.id)
        self.plan = plan

    def profiles(self):
        return dict(self.known)

    def reviews(self):
        return ()

    def orders(self):
        return self.ordered

    def acknowledge(self, revision):
        self.obeyed = revision

    def undos(self):
        return {}

    def start(self):
        pass

    def close(self):
        pass

    def begin(self):
        """Lead, as after an election."""
        self.standing.run(self, self, lambda seconds: True)
        self.standing.elected()

    def ask(self, state=STATE):
        return self.standing.plan(state)

    def get(self, path, method="GET"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request(method, path)
        answer = connection.getresponse()
        return answer, answer.read()

    def document(self, path):
        answer, content = self.get(path)
        return answer.status, json.loads(content)

    def metrics(self):
        """Return every sample's value by its name and labels."""
        answer, content = self.get("/metrics")
        assert (answer.status, answer.headers["Content-Type"]) == (
            200,
            "text/plain; version=0.0.4; charset=utf-8",
        )
        found = {}
        for family in text_string_to_metric_families(content.decode()):
            for sample in family.samples:
                key = (sample.name, *sample.labels.values())
                assert key not in found
                found[key] = sample.value
        return found


@pytest.fixture
def site():
    site = Site()
    with serving(site.pages.at, "127.0.0.1", 0) as site.port:
        yield site


def test_it_lives_at_once_and_is_ready_while_it_leads_or_stands_by(site):
    assert site.document("/healthz") == (200, {"alive": True})
    status, document = site.document("/readyz")
    assert status == 503 and "starting" in document["reason"]
    site.begin()
    ready = {"ready": True, "leads": True, "reason": None}
    assert site.document("/readyz") == (200, ready)
    site.leads = False
    assert site.document("/readyz") == (200, ready | {"leads": False})
    site.in_session = False
    status, document = site.document("/readyz")
    assert status == 503 and "no session with ZooKeeper" in document["reason"]
    assert site.document("/healzh")[0] == 404
    assert site.document("/healthz?verbose=1")[0] == 200


def test_status_tells_of_the_last_decisions(site):
    site.begin()
    _, before = site.document("/status")
    assert (before["brain"], before["leads"], before["algorithm"]) == ("b-1", True, "cut")
    assert (before["plan"], before["described_ms"], before["topologies"]) == (None, None, [])
    site.known = {TAXI.id: PROFILE}
    site.standing.elected()
    plan = site.ask()
    site.clock.seconds += 7
    _, after = site.document("/status")
    assert after["plan"] == {"id": plan.id, "created_ms": plan.created_ms, "age_seconds": 7.0}
    assert after["described_ms"] == plan.created_ms
    new, taxi = after["topologies"]
    assert (new["name"], new["topology"], new["action"]) == ("new", "new-2-18", "place")
    assert (taxi["name"], taxi["action"]) == ("taxi", "move")
    assert taxi["reason"] == plan.of(TAXI.id).reason
    site.leads = False
    _, standby = site.document("/status")
    assert (standby["plan"], standby["topologies"]) == (None, [])


def test_what_is_measured_is_told_in_base_units(site):
    site.begin()
    found = site.metrics()
    assert found["stormcut_observer_up",] == 1
    assert found["stormcut_topology_acked_tuples_per_second", TAXI.id] == 20
    assert found["stormcut_topology_complete_latency_seconds", TAXI.id] == 0.005
    assert found["stormcut_topology_cpu_cores", TAXI.id] == 1.5
    site.seen = {}
    assert ("stormcut_topology_cpu_cores", TAXI.id) not in site.metrics()


def test_what_is_decided_is_counted_once(site):
    site.known = {TAXI.id: SIZED}
    site.begin()
    plan = site.ask()
    site.ask()
    (entry,) = [part for part in plan.topologies if part.topology == TAXI.id]
    first = site.metrics()
    assert first["stormcut_plans_total",] == first["stormcut_plans_moving_total",] == 1
    assert first["stormcut_elections_won_total",] == 1
    assert first["stormcut_decisions_total", "move"] == 1
    assert first["stormcut_decisions_total", "place"] == 1
    assert first["stormcut_decisions_total", "decline"] == 0
    changed = {*TAXI.assignment} ^ {*entry.workers}
    assert first["stormcut_workers_restarted_total",] == len({w.slot for w in changed})
    assert first["stormcut_decide_seconds_count",] == 1
    done = applied(STATE, plan.topologies)
    assert site.ask(done) == plan
    second = site.metrics()
    assert second["stormcut_decide_seconds_count",] == 2
    for name in ("plans_total", "plans_moving_total", "workers_restarted_total"):
        assert second[f"stormcut_{name}",] == first[f"stormcut_{name}",]
    assert second["stormcut_decisions_total", "keep"] == 0


def test_what_travels_falls_from_before_to_after_and_stays_there(site):
    site.known = {TAXI.id: SIZED}
    site.begin()
    plan = site.ask()

    def told(of):
        found = site.metrics()
        kinds = ("tuples_per_second", "bytes_per_second")
        names = [f"stormcut_decided_between_nodes_{kind}" for kind in kinds]
        return [found[name, of, "taxi"] for name in names]

    before, after = told("before"), told("after")
    assert before[1] == pytest.approx(100 * before[0])
    assert after[0] < before[0] and after[1] < before[1]
    rooms = [site.metrics()["stormcut_decided_headroom_ratio", "after", "taxi"]]
    site.ask(applied(STATE, plan.topologies))
    assert told("before") == told("after") == after
    rooms += [
        site.metrics()["stormcut_decided_headroom_ratio", of, "taxi"] for of in ("before", "after")
    ]
    assert rooms == [pytest.approx(rooms[0])] * 3 and rooms[0] > 0
    # Declared units are no tuples/s.
    assert not any("new" in key for key in site.metrics())


@pytest.mark.slow
def test_a_topology_that_is_gone_has_no_series_and_a_standby_none_at_all(site):
    site.known = {TAXI.id: PROFILE, "other-1-1": replace(PROFILE, topology="other-1-1")}
    site.begin()
    site.ask()
    found = site.metrics()
    assert found["stormcut_profiles",] == 2
    assert found["stormcut_profile_age_seconds", "taxi"] == 60
    assert found["stormcut_profile_age_seconds", "other-1-1"] == 60
    site.ask(ClusterState(STATE.supervisors, STATE.topologies[1:]))
    gone = {key for key in site.metrics() if "taxi" in key}
    assert gone == set()
    site.leads = False
    found = site.metrics()
    assert (found["stormcut_leader",], found["stormcut_zookeeper_connected",]) == (0, 1)
    assert not any(re.search("decided|profile|asked", key[0]) for key in found)
    site.in_session = False
    assert site.metrics()["stormcut_zookeeper_connected",] == 0


def test_it_tells_who_may_act_and_what_waits(site):
    node = STATE.supervisors[0]
    site.known = {TAXI.id: PROFILE}
    site.ordered = Orders(is_paused=True, drained=frozenset({node.host}))
    site.begin()
    site.ask()
    found = site.metrics()
    assert found["stormcut_paused",] == 1
    assert found["stormcut_mode", "automatic"] == 1
    assert found["stormcut_mode", "advise"] == 0
    left = sum(len(w.executors) for w in TAXI.assignment if w.slot.node == node.id)
    assert found["stormcut_drained_executors", node.host] == left > 0
    assert found["stormcut_waiting_changes", "paused"] == 2
    assert found["stormcut_waiting_changes", "quiet"] == 0
    assert found["stormcut_silent_nodes",] == 0
    assert found["stormcut_reviewed_moves", "worse"] == 0
    site.ordered = NO_ORDERS
    site.begin()
    site.standing.brain.heard = lambda: {
        (TAXI.id, s.host): s is not node for s in STATE.supervisors
    }
    site.clock.seconds += 60
    site.ask()
    found = site.metrics()
    assert (found["stormcut_paused",], found["stormcut_silent_nodes",]) == (0, 1)


def test_silence_of_nimbus_counts_from_the_election(site):
    site.begin()
    site.clock.seconds += 20
    assert site.metrics()["stormcut_nimbus_asked_age_seconds",] == 20
    site.ask()
    site.clock.seconds += 5
    assert site.metrics()["stormcut_nimbus_asked_age_seconds",] == 5
    site.standing.elected()
    assert site.metrics()["stormcut_nimbus_asked_age_seconds",] == 0
    assert site.document("/status")[1]["topologies"] == []


def test_a_plan_that_was_not_published_counts_as_none(site):
    site.begin()
    site.is_published = False
    with pytest.raises(Unavailable):
        site.ask()
    assert site.metrics()["stormcut_plans_total",] == 0
    assert site.document("/status")[1]["topologies"] == []


def named(text):
    """Return the metrics that a text names, the parts of histograms as these."""
    return {re.sub("_(bucket|sum|count)$", "", each) for each in NAME.findall(text)}


class Changing:
    """Counters of a brain that decides, or takes over, whenever one looks."""

    led_since = 0.0

    def __init__(self, *latest):
        self._latest = iter(latest)

    @property
    def latest(self):
        return next(self._latest)


def test_what_is_told_while_it_decides_is_of_one_moment(site):
    site.begin()
    site.ask()
    latest = site.counters.latest
    for seen in ((latest, None), (None, latest)):
        view = View("b-1", "cut", site.standing, Changing(*seen), lambda: True, site.clock)
        assert len(view.decisions()) == (2 if seen[0] else 0)


NAME = re.compile(r"\bstormcut_[a-z_]+\b")


def families(site):
    site.known = {TAXI.id: SIZED}
    site.begin()
    site.ask()
    _, content = site.get("/metrics")
    return {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in text_string_to_metric_families(content.decode())
        if family.name.startswith("stormcut_")
    }


def test_the_page_names_every_metric_and_no_other(site):
    page = (checkout() / "docs" / "monitoring.md").read_text(encoding="utf-8")
    assert named(page) == families(site)


@pytest.mark.slow
def test_the_dashboard_asks_for_metrics_that_there_are(site):
    dashboard = json.loads((checkout() / "docs" / "grafana-dashboard.json").read_text())
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    names = named(" ".join(asked))
    assert names <= families(site) and len(names) >= 10
    _, content = site.get("/metrics")
    labels = set(re.findall(r'[{,]([a-z_]+)="', content.decode()))
    wanted = {
        label
        for e in asked
        for each in re.findall(r"\{(.*?)\}", e)
        for label in re.findall(r"([a-z_]+)=", each)
    }
    grouped = {
        label
        for e in asked
        for each in re.findall(r"by \((.*?)\)", e)
        for label in each.replace(" ", "").split(",")
    }
    assert wanted | grouped <= labels


def test_the_alerts_ask_for_metrics_that_there_are(site):
    text = (checkout() / "docs" / "prometheus-alerts.yaml").read_text()
    (group,) = yaml.safe_load(text)["groups"]
    names = named(" ".join(rule["expr"] for rule in group["rules"]))
    # The observer's gauges are those of `operate` alone; another test holds their page.
    assert names - {"stormcut_observer_up"} <= families(site) and len(names) >= 9
    assert all(rule["annotations"]["summary"] for rule in group["rules"])
    assert len({rule["alert"] for rule in group["rules"]}) == len(group["rules"])


def exchanged(port, content):
    """Send bytes and return what comes back until the server closes or resets."""
    received = b""
    address = ("127.0.0.1", port)
    with suppress(OSError), socket.create_connection(address, timeout=PATIENCE_S) as connection:
        connection.sendall(content)
        with suppress(OSError):  # It may have been closed already.
            connection.shutdown(socket.SHUT_WR)
        while part := connection.recv(4096):
            received += part
    return received


REQUESTS = (
    b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n",
    b"HEAD /readyz?a=b HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    b"POST /status HTTP/1.1\r\nContent-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n{}",
    b"GET " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 150 + b"\r\n",
    b"GET http://[ HTTP/9.9\r\n\r\n",
    b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
)


def test_garbage_leaves_it_answering(site):
    chance = random.Random(15)
    site.begin()
    site.metrics()
    threads = threading.active_count()
    with little_memory():
        for _ in range(messages()):
            received = exchanged(site.port, damaged(chance.choice(REQUESTS), chance))
            assert b" 500 " not in received[:20]
    assert site.document("/healthz")[0] == 200
    assert site.metrics()["stormcut_leader",] == 1
    await_true(lambda: threading.active_count() <= threads)


def test_nothing_but_reading(site):
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert site.get("/status", method)[0].status == 501
    answer, content = site.get("/status", "HEAD")
    assert (answer.status, content) == (200, b"")
    assert int(answer.headers["Content-Length"]) > 0


def test_one_request_a_connection(site):
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n"
    assert exchanged(site.port, 3 * request).count(b"HTTP/1.0 200") == 1


def test_clients_that_send_nothing_hold_nobody(site):
    """More of them than there are seats: the oldest has to go, at once."""
    silent = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(3 * MAX_CLIENTS)]
    try:
        for _ in range(MAX_CLIENTS):
            assert site.document("/healthz")[0] == 200
        silent[0].settimeout(PATIENCE_S)
        assert silent[0].recv(1) == b""
    finally:
        for each in silent:
            each.close()


def test_who_sends_a_byte_now_and_then_is_cut_off_all_the_same(site, monkeypatch):
    monkeypatch.setattr(server_module, "CLIENT_SECONDS", 0.3)
    began = time.monotonic()
    with (
        suppress(OSError),
        socket.create_connection(("127.0.0.1", site.port)) as connection,
    ):
        connection.settimeout(0.02)
        while time.monotonic() - began < PATIENCE_S:
            connection.sendall(b"G")
            with suppress(TimeoutError):
                if not connection.recv(1):
                    break
    assert time.monotonic() - began < PATIENCE_S


def test_a_bug_is_told_in_the_log_and_ends_nothing(caplog):
    def page(path):
        raise ValueError(path)

    with serving(page, "127.0.0.1", 0) as port, caplog.at_level(logging.ERROR):
        assert b" 500 " in exchanged(port, b"GET /metrics HTTP/1.0\r\n\r\n")
        assert b" 500 " in exchanged(port, b"GET /metrics HTTP/1.0\r\n\r\n")
    assert "a bug in stormcut" in caplog.text


def test_a_port_in_use_is_one_clear_line(site):
    with (
        pytest.raises(InvalidInput, match=f"--http 127.0.0.1:{site.port}: cannot listen"),
        serving(site.pages.at, "127.0.0.1", site.port),
    ):
        pass


def test_it_answers_on_ipv6_where_there_is_one(site):
    with (
        suppress_no_ipv6(),
        serving(site.pages.at, "::1", 0) as port,
        socket.create_connection(("::1", port)) as connection,
    ):
        connection.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert connection.recv(20).startswith(b"HTTP/1.0 200")


@contextmanager
def suppress_no_ipv6():
    try:
        yield
    except InvalidInput as error:
        if "address" not in str(error).lower():
            raise
        pytest.skip("this machine has no ::1")
