"""`stormcut status` and `plan` as people see them."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from brain_clusters import topology
from governed import Stage, approve_past_guards, spread
from rich.console import Console

from stormcut.control.operations import pausing
from stormcut.control.orders import Orders
from stormcut.control.policy import Mode, Policy
from stormcut.report.preview import print_outlook
from stormcut.report.status import document, print_status

NAME = "a-topology-of-a-team-that-likes-long-names-12-1700000000"


def stage(mode, orders=None):
    state, profiles = spread("a", "b")
    named = replace(state.topologies[0], id=NAME, name=NAME[:-14])
    new = topology("new-3-1700000001")
    state = replace(state, topologies=(named, state.topologies[1], new))
    known = {NAME: replace(profiles["a"], topology=NAME), "b": profiles["b"]}
    found = Stage(state, known, Policy(mode), orders or Orders())
    found.brain.plan(state)
    return found


def screen(show, *arguments):
    file = io.StringIO()
    show(Console(file=file, width=100, highlight=False), *arguments)
    text = file.getvalue()
    assert max(map(len, text.splitlines())) <= 100
    assert len(text.splitlines()) <= 56
    return " ".join(text.split())


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(Mode))
def test_the_plan_says_what_would_be_done_and_how_to_have_it_done(mode):
    outlook = stage(mode).brain.outlook(settled=False)
    text = screen(print_outlook, outlook)
    if mode is Mode.AUTOMATIC:
        assert text == "nothing waits: all runs as decided (mode automatic)"
        return
    assert f"plan {outlook['proposal']}, mode {mode.value}" in text
    assert f"{NAME}: moves; workers end or start again in 4 slots" in text
    assert text.count("not now: ") == 3
    # Which executors go to which node and worker can be checked.
    (line,) = (each for each in outlook["withheld"] if each["topology"] == "b")
    for node, port, tasks in line["workers"]:
        assert f"h{node[1:]}:{port} executors {tasks[0]}" in text
    assert (f"stormcut approve {outlook['proposal']}" in text) == (mode is Mode.APPROVE)


@pytest.mark.slow
def test_a_plan_that_is_approved_past_guards_says_that_it_is_not_how_to_approve_it():
    found, before = approve_past_guards(Policy(Mode.APPROVE))
    command = f"stormcut approve {before['override']['proposal']} --override REASON"
    assert command in screen(print_outlook, before)
    found.store.ordered = pausing(True)(found.store.ordered)
    found.round()
    text = screen(print_outlook, found.brain.outlook())
    assert "It is approved, and goes once no other guard holds it" in text
    assert command not in text


def test_a_drain_says_what_is_left_and_when_it_is_complete():
    found = stage(Mode.ADVISE, Orders(drained=frozenset({"h1"})))
    text = screen(print_outlook, found.brain.outlook(settled=False))
    assert "drained: h1, 2 executors left" in text
    alone = Stage(*spread("a"), Policy(Mode.AUTOMATIC), Orders(drained=frozenset({"h1"})))
    alone.round()
    alone.round()
    text = screen(print_outlook, alone.brain.outlook(settled=False))
    assert "drained: h1, drain complete" in text


def test_what_is_known_of_a_machine_is_said_once_however_many_nodes_share_it():
    outlook = stage(Mode.AUTOMATIC).brain.outlook(settled=False)
    shared = {f"n{at}": "the machine of h0, h1 and 2 more is full" for at in range(4)}
    text = screen(print_outlook, {**outlook, "machines": shared})
    assert text.count("the machine of h0, h1 and 2 more is full") == 1
    assert "`stormcut status`" not in text
    own = {f"n{at}": f"h{at} declares no capacity" for at in range(5)}
    text = screen(print_outlook, {**outlook, "machines": own})
    assert "and 2 more: see `stormcut status`" in text


def test_a_pause_and_drained_nodes_come_first():
    orders = Orders(is_paused=True, drained=frozenset({"h1"}))
    outlook = stage(Mode.AUTOMATIC, orders).brain.outlook(settled=False)
    text = screen(print_outlook, outlook)
    assert text.startswith("paused: nothing is done before `stormcut resume` drained: h1")


@pytest.mark.parametrize("mode", list(Mode))
def test_the_status_fits_a_screen(mode):
    brain = stage(mode, Orders(drained=frozenset({"h1"}))).brain
    described = brain.last_described
    found = document("host-1-2", described.moment_ms, described, brain.outlook(settled=False))
    text = screen(print_status, found)
    assert "controller host-1-2 leads" in text
    assert "5 executors run nowhere" in text or "6 executors run nowhere" in text
    assert "drained" in text
    assert {line["topology"] for line in found["topologies"]} == {
        NAME,
        "b",
        "new-3-1700000001",
    }
    assert ("waits" in text) == (mode is not Mode.AUTOMATIC)
