"""The rules behind what people order: each refuses in one line, or gives the order."""

from dataclasses import replace

import pytest

from stormcut.control.operations import (
    STALE_SECONDS,
    all_drained,
    approving,
    check_fresh,
    check_goes_back,
    draining,
    held_when_approved,
    overriding,
    pausing,
    resolved,
    undraining,
)
from stormcut.control.orders import NO_ORDERS, Override, Undo
from stormcut.model.cluster import Slot, Supervisor, Worker
from stormcut.model.errors import InvalidInput

NODES = (Supervisor("id-1", "host1", (6700,)), Supervisor("id-2", "host2", (6700,)))
WORKERS = (Worker(Slot("id-1", 6700), (1, 2)),)
HELD = {
    "topology": "a",
    "answer": "never",
    "action": "undo",
    "workers": [["n1", 1, [1]], ["n2", 1, [2]]],
    "former": [["n2", 1, [2]], ["n3", 1, [1]]],
}
NOW_S = 1_700_000_000.0


def test_what_nimbus_describes_no_more_is_not_taken_for_the_present():
    for age_s in (0, STALE_SECONDS):
        check_fresh({"described_ms": int((NOW_S - age_s) * 1000)}, NOW_S)
    old_ms = int((NOW_S - STALE_SECONDS - 5) * 1000)
    with pytest.raises(InvalidInput, match=r"^brain: Nimbus .* 65 s ago, .* no topology runs"):
        check_fresh({"described_ms": old_ms}, NOW_S)


def test_a_plan_is_approved_by_its_name_alone():
    outlook = {"mode": "approve", "proposal": "3f2a", "withheld": []}
    orders = approving("3f2a", None, outlook)(NO_ORDERS)
    assert (orders.approved, orders.overrides) == (frozenset({"3f2a"}), {})


def test_an_override_names_its_plan_what_it_passes_and_the_pause_that_it_found():
    forced = {"proposal": "77aa", "guards": ["paused", "pinned"], "topologies": []}
    outlook = {"mode": "automatic", "proposal": "3f2a", "override": forced, "pauses": 2}
    orders = approving("77aa", "fire", outlook)(NO_ORDERS)
    assert orders.approved == {"77aa"}
    assert orders.overrides == {"77aa": Override("fire", frozenset({"paused", "pinned"}), 2)}
    with pytest.raises(InvalidInput, match=r"^3f2a: .*another plan would be done: 77aa"):
        approving("3f2a", "fire", outlook)
    with pytest.raises(InvalidInput, match=r"^77aa: nothing waits"):
        approving("77aa", "fire", outlook | {"override": None})
    for offered in ("3f2a", None):
        with pytest.raises(InvalidInput, match=r"^77aa: needs --override .* \(paused, pinned\)"):
            approving("77aa", None, outlook | {"proposal": offered})


def test_an_approval_takes_the_place_of_earlier_ones():
    earlier = replace(
        NO_ORDERS,
        approved=frozenset({"77aa"}),
        approved_by={"77aa": "ann"},
        overrides={"77aa": Override("fire", frozenset({"pinned"}), 0)},
    )
    orders = approving("3f2a", None, {"mode": "approve", "proposal": "3f2a"}, "bob")(earlier)
    assert orders == replace(NO_ORDERS, approved=frozenset({"3f2a"}), approved_by={"3f2a": "bob"})


@pytest.mark.parametrize(
    ("outlook", "words"),
    [
        ({"mode": "advise", "proposal": "3f2a"}, "^3f2a: .*only advises"),
        ({"mode": "approve", "proposal": None}, "^3f2a: nothing waits"),
        ({"mode": "approve", "proposal": "77aa", "override": None}, "^3f2a: .*that is 77aa"),
    ],
)
def test_an_approval_of_anything_else_is_refused(outlook, words):
    with pytest.raises(InvalidInput, match=words):
        approving("3f2a", None, outlook)


def test_what_a_guard_holds_beside_the_approval_is_told():
    lines = [{"topology": "a", "when_approved": []}, {"topology": "b", "when_approved": ["quiet"]}]
    assert held_when_approved({"withheld": lines}) == [("b", "quiet")]


def test_orders_change_only_what_they_name():
    orders = draining("host1", NODES)(pausing(True)(NO_ORDERS))
    assert orders.is_paused and orders.drained == {"host1"}
    for name in ("host1", "id-1"):
        assert undraining(name)(pausing(False)(orders)) == replace(NO_ORDERS, pauses=1)


def test_only_nodes_that_are_there_are_drained_and_only_drained_ones_used_again():
    with pytest.raises(InvalidInput, match=r"^host3: .*there are: host1, host2"):
        draining("host3", NODES)
    with pytest.raises(InvalidInput, match=r"^host1: .*drained: none"):
        undraining("host1")(NO_ORDERS)


def test_a_drained_node_keeps_its_other_name_if_no_other_node_has_it():
    def aliases(node, known):
        return draining(node, known)(NO_ORDERS).aliases

    assert aliases("host1", NODES) == {"host1": "id-1"}
    assert aliases("id-2", NODES) == {"id-2": "host2"}
    two_of_a_host = (*NODES, Supervisor("id-3", "host2", (6800,)))
    assert aliases("id-2", two_of_a_host) == {}
    assert aliases("host2", two_of_a_host) == {}
    assert aliases("host1", two_of_a_host) == {"host1": "id-1"}
    assert aliases("one", (Supervisor("one", "one", (6700,)),)) == {}


def test_all_nodes_are_drained_by_ids_and_hosts_alike():
    orders = draining("host1", NODES)(NO_ORDERS)
    assert not all_drained(orders, NODES)
    assert all_drained(draining("id-2", NODES)(orders), NODES)


@pytest.mark.parametrize(
    ("preview", "words"),
    [
        ({"withheld": [{**HELD, "guard": "is pinned", "waits_for": "pinned"}]}, "--override"),
        (
            {"withheld": [{**HELD, "guard": "a node is drained", "waits_for": "drained"}]},
            "a node is drained; nothing overrides",
        ),
        (
            {
                "withheld": [{**HELD, "guard": "some node is drained", "waits_for": "drained"}],
                "barred": {"n1": "h1 is silent", "n2": "h2 is drained", "n3": "h3 is drained"},
            },
            "is not sent back: h1 is silent; nothing overrides",
        ),
        (
            {"withheld": [{**HELD, "action": "move", "reason": "h1 is drained"}]},
            "h1 is drained",
        ),
        ({"withheld": [], "topologies": [], "declined": []}, "does not run now"),
        (
            {
                "withheld": [],
                "topologies": [{"topology": "a", "evidence": "measured", "reason": "n1 is full"}],
                "declined": [],
            },
            "n1 is full",
        ),
    ],
)
def test_an_undo_that_would_never_be_carried_out_is_refused(preview, words):
    with pytest.raises(InvalidInput, match=rf"^a: .*{words}"):
        check_goes_back(preview, "a")


def test_an_undo_that_waits_or_goes_back_is_taken():
    check_goes_back({"withheld": [{**HELD, "answer": "wait", "guard": "paused"}]}, "a")
    back = {"topology": "a", "evidence": "undone", "reason": "undone"}
    check_goes_back({"withheld": [], "topologies": [back], "declined": []}, "a")


@pytest.mark.parametrize(
    ("known", "latest"),
    [
        (("mine-1-100", "mine-2-200"), "mine-2-200"),
        (("mine-9-100", "mine-10-100"), "mine-10-100"),
        (("mine-1-100", "mine-2-90"), "mine-1-100"),
        (("mine-1-9", "mine-1-10"), "mine-1-10"),
        (("mine-1-100", "mine-2-100"), "mine-2-100"),
    ],
)
def test_a_name_means_the_topology_that_was_submitted_last(known, latest):
    assert resolved("mine", known) == latest
    assert resolved("mine", tuple(reversed(known))) == latest


def test_an_undo_passes_what_its_preview_foresaw_and_nothing_that_is_unknown():
    undo = Undo(WORKERS, override=Override("because"))
    lines = [
        {"topology": "b", "initiator": "undo", "passed": ["quiet"]},
        {"topology": "a", "initiator": "gain", "passed": ["dear"]},
        {"topology": "a", "initiator": "undo", "passed": ["pinned", "paused"]},
    ]
    found = overriding(undo, {"topologies": lines}, "a", 3).override
    assert (found.reason, found.guards, found.pauses) == ("because", {"pinned", "paused"}, 3)
    for preview in (None, {"topologies": lines[:2]}):
        assert overriding(undo, preview, "a", 3).override.guards is None
    plain = replace(undo, override=None)
    assert overriding(plain, {"topologies": lines}, "a", 3) == plain


def test_a_topology_has_its_id_its_name_and_no_other():
    assert resolved("mine-1-100", ("mine-2-200", "mine-1-100")) == "mine-1-100"
    with pytest.raises(InvalidInput, match=r"^yours: no such topology \(known: a-1-1, b-1-1\)"):
        resolved("yours", ("b-1-1", "a-1-1"))
    with pytest.raises(InvalidInput, match=r"^yours: never moved \(known: none\)"):
        resolved("yours", (), "never moved")
