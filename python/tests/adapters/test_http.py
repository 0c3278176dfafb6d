"""What the controller tells over HTTP, on real sockets."""

from __future__ import annotations

import json
import random
import re
import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from brain_clusters import dealt, profile_of, supervisors, topology
from simulated import SimulatedClock, ids

from stormcut.adapters.http.metrics import BrainMetrics
from stormcut.adapters.http.server import MAX_CLIENTS, Pages, serving
from stormcut.adapters.machine.home import checkout
from stormcut.application.control.adviser import Settings
from stormcut.application.control.brain import Brain
from stormcut.application.control.observer import Seen
from stormcut.application.control.orders import NO_ORDERS
from stormcut.model.cluster import ClusterState, Slot
from stormcut.profile.measured import Measured

RUNNING = dealt(topology("t", (2, 2)), [Slot(f"n{i}", 6700) for i in range(3)])
STATE = ClusterState(supervisors(3), (RUNNING, topology("new", (1, 1))))
SEEN = Seen(
    Measured("t", 0, 60, 60, 100.0, 40.0, 50.0, 50.0, 0.0, 200.0, 0, 5.0, 3, 3, 150.0, ()), 60.0
)


class Known:
    def __init__(self):
        self.plans = []

    def last_plan(self):
        return None

    def publish(self, plan, entry):
        self.plans.append(plan)

    def profiles(self):
        return {"t": profile_of(RUNNING)}

    def former(self):
        return {}

    def orders(self):
        return NO_ORDERS


class Site:
    def __init__(self):
        known = Known()
        self.brain = Brain(Settings(), known, known, SimulatedClock(), ids())
        self.is_connected = True
        metrics = BrainMetrics(
            self.brain, lambda: True, lambda: self.is_connected, lambda: False, lambda: {"t": SEEN}
        )
        self.pages = Pages(
            metrics,
            lambda: None if self.is_connected else "no session with ZooKeeper",
            lambda: self.brain.outlook(settled=False),
        )
        self.port = 0

    def get(self, page):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{page}", timeout=20) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


@pytest.fixture
def site():
    site = Site()
    with serving(site.pages, "127.0.0.1", 0) as site.port:
        yield site


def values(text):
    rows = (line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, value in rows}


def test_metrics_say_what_was_done(site):
    assert values(site.get("/metrics")[1])["stormcut_decisions_total"] == 0
    site.brain.plan(STATE)
    status, text = site.get("/metrics")
    found = values(text)
    assert status == 200
    assert found["stormcut_leader"] == 1
    assert found["stormcut_observer_up"] == 0
    assert found["stormcut_plans_published_total"] == found["stormcut_topology_moves_total"] == 1
    assert found["stormcut_slots_restarted_total"] > 0
    assert found['stormcut_topologies{action="move"}'] == 1
    assert found['stormcut_topologies{action="place"}'] == 1
    assert found['stormcut_topology_acked_tuples_per_second{topology="t"}'] == 20
    assert found['stormcut_topology_complete_latency_seconds{topology="t"}'] == 0.005


def test_the_page_names_every_metric_and_no_other(site):
    site.brain.plan(STATE)
    page = (Path(checkout()) / "docs" / "monitoring.md").read_text()
    named = set(re.findall(r"`(stormcut_\w+?)(?:\{\w+\})?`", page))
    given = {name.partition("{")[0] for name in values(site.get("/metrics")[1])}
    assert named == given


def test_health_readiness_and_state(site):
    assert site.get("/healthz")[0] == 200
    assert site.get("/readyz")[0] == 200
    assert site.get("/status")[0] == 503
    site.brain.plan(STATE)
    status, text = site.get("/status?x=1")
    assert status == 200
    assert json.loads(text)["topologies"]
    site.is_connected = False
    status, text = site.get("/readyz")
    assert (status, json.loads(text)["reason"]) == (503, "no session with ZooKeeper")
    assert site.get("/healthz")[0] == 200
    status, text = site.get("/other")
    assert status == 404
    assert "/metrics" in json.loads(text)["pages"]


def test_a_thousand_requests_of_noise_leave_it_answering(site):
    chance = random.Random(1)
    for number in range(1000):
        with socket.create_connection(("127.0.0.1", site.port), timeout=20) as connection:
            head = b"GET /" if number % 2 else b""
            connection.sendall(head + chance.randbytes(chance.randrange(300)) + b"\r\n\r\n")
            if number % 10 == 0:
                connection.settimeout(20)
                connection.recv(10)
    assert site.get("/healthz")[0] == 200


def test_clients_that_say_nothing_do_not_hold_it(site):
    silent = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(2 * MAX_CLIENTS)]
    try:
        # Until the first of them have been given up there is no room.
        status = 0
        while status != 200:
            try:
                status = site.get("/healthz")[0]
            except OSError:
                continue
    finally:
        for connection in silent:
            connection.close()


def test_nothing_but_reading_is_answered(site):
    request = urllib.request.Request(f"http://127.0.0.1:{site.port}/status", data=b"x")
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(request, timeout=20)
    assert raised.value.code == 501
