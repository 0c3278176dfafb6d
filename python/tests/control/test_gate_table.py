"""Whoever acts, every guard answers as docs/policy.md says; in no history is one ever broken."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from unittest.mock import patch

import pytest
from brain_clusters import applied, dealt, supervisors, topology
from governed import goes_on

from stormcut.control.apply import context
from stormcut.control.apply.context import Inputs
from stormcut.control.decide.adviser import Settings
from stormcut.control.decide.allowed import Allowed
from stormcut.control.decide.decision import (
    Action,
    BreaksLimit,
    Choice,
    Circumstance,
    Decision,
    Decisions,
    Evidence,
    Ground,
    Guard,
    MoreHeadroom,
    PlacementFigures,
    Worth,
)
from stormcut.control.decide.pace import Pace
from stormcut.control.gate.account import Account
from stormcut.control.gate.change import Change, Initiator, restarted
from stormcut.control.gate.gate import DWELL_SECONDS, Gate, GuardContext
from stormcut.control.gate.guards import FIRM, TABLE
from stormcut.control.gate.ledger import Ledger
from stormcut.control.orders import NO_ORDERS, By, Orders, Override, Undo
from stormcut.control.policy import Mode, Policy, QuietTime, Rule, TopologyRule
from stormcut.control.round import RoundState, play
from stormcut.model.cluster import ClusterState, Slot
from stormcut.model.plan import Plan, TopologyPlan
from stormcut.objective.metrics import Metrics
from stormcut.objective.verify import Violation

PAGE = Path(__file__).parents[3] / "docs" / "policy.md"
NOON = datetime(2026, 1, 1, 12)
AUTOMATIC = Policy(Mode.AUTOMATIC)
HOME, TARGET = (
    tuple(sorted(dealt(topology("a", (2, 2), acker=False), slots).assignment))
    for slots in ([Slot("n0", 6700), Slot("n1", 6700)], [Slot("n2", 6700), Slot("n3", 6700)])
)
GAIN = MoreHeadroom(Worth(1.3, None, 9.0, "bytes/s"), Worth(9.0, None, 9.0, "bytes/s"))
LITTLE = MoreHeadroom(Worth(1.3, None, 9.0, "bytes/s"), Worth(1.3, None, 9.0, "bytes/s"))


def moved_s_ago(seconds):
    return Pace(10_000.0, changed={"a-1-1": 10_000.0 - seconds})


def scene(guard):
    """What makes one guard stand alone: a policy, what differs of the moment, and the reason."""
    rules = (TopologyRule("a", pin=True),)
    budget = {
        Guard.ROUND: {"restarts_per_round": 5},
        Guard.NODE: {"restarts_per_node": 1},
        Guard.HOUR: {"restarts_per_hour": 5},
    }
    policy = {
        Guard.PINNED: replace(AUTOMATIC, topologies=rules),
        Guard.NEVER: replace(AUTOMATIC, rule=Rule.NEVER),
        Guard.ADVICE: Policy(Mode.ADVISE),
        Guard.APPROVAL: Policy(Mode.APPROVE),
        Guard.REST: replace(AUTOMATIC, topologies=(TopologyRule("a", drain_s=20.0),)),
        Guard.QUIET: replace(AUTOMATIC, quiet_hours=(QuietTime(0, 1440),)),
    }.get(guard, replace(AUTOMATIC, **budget.get(guard, {})))
    moment = {
        Guard.DRAINED: {"barred": {"n2"}},
        Guard.SILENT: {"silent": {"a-1-1"}},
        Guard.CONTRADICTED: {"accounts": {"a-1-1": Account(factor=0.5)}},
        Guard.PAUSED: {"orders": Orders(is_paused=True)},
        Guard.COOL_DOWN: {"pace": moved_s_ago(100.0)},
        Guard.DWELL: {"pace": moved_s_ago(10.0)},
        Guard.STAGE: {"is_staging": True},
    }.get(guard, {})
    return policy, moment, LITTLE if guard is Guard.DEAR else GAIN


def test_what_persons_order_goes_first():
    policy = replace(AUTOMATIC, restarts_per_round=5)
    evidence = Evidence(Ground.MEASURED)
    gain = Change(Initiator.GAIN, "a-1-1", HOME, TARGET, GAIN, evidence)
    undo = Change(Initiator.UNDO, "z-1-1", HOME, TARGET, GAIN, evidence)
    for changes in ([gain, undo], [undo, gain]):
        assert set(Gate(policy).judge(changes, any_moment())) == {"a-1-1"}


def any_moment():
    return GuardContext(
        10_000.0,
        NOON,
        NO_ORDERS,
        Pace(),
        Ledger(),
        Allowed({}),
    )


def answer(guard, initiator, override=None):
    policy, differs, reason = scene(guard)
    moment = any_moment()
    evidence = Evidence(Ground.MEASURED)
    change = Change(
        initiator,
        "a-1-1",
        HOME,
        TARGET,
        reason,
        evidence,
        override,
        is_approved=initiator is Initiator.APPROVE,
    )
    before = []
    if guard in (Guard.ROUND, Guard.NODE, Guard.HOUR):
        # Another one of higher priority uses the budget up.
        policy = replace(policy, topologies=(TopologyRule("first", priority=9),))
        first = replace(change, topology="first-1-1", override=None)
        before = [replace(first, initiator=Initiator.APPROVE)]
    gate, moment = Gate(policy), replace(moment, **differs)
    changes = [*before, change]
    held = (gate.judge(changes, moment) or gate.unrested(changes, moment)).get("a-1-1")
    return "go" if held is None else held.answer.value


NAMES = {
    Guard.PINNED: "`pin`",
    Guard.NEVER: "`policy: {name: never}`",
    Guard.DRAINED: (
        "node that is drained, excluded, silent or on probation, or has just lost its workers"
    ),
    Guard.ADVICE: "`mode: advise`",
    Guard.APPROVAL: "`mode: approve`",
    Guard.SILENT: "workers are silent",
    Guard.CONTRADICTED: "measured contradicts model",
    Guard.PAUSED: "`pause`",
    Guard.QUIET: "`quiet_hours`",
    Guard.COOL_DOWN: "`cool_down`",
    Guard.DWELL: "a minute's dwell",
    Guard.DEAR: "it does not pay",
    Guard.STAGE: "a staged move under way",
    Guard.ROUND: "`restarts_per_round`",
    Guard.NODE: "`restarts_per_node`",
    Guard.HOUR: "`restarts_per_hour`",
    Guard.REST: "spouts that rest first",
}


def table():
    head = ["guard", *(initiator.value for initiator in Initiator), "`--override`"]
    rows = [head, ["---"] * len(head)]
    for guard, name in NAMES.items():
        answers = [answer(guard, initiator) for initiator in Initiator]
        override = answer(guard, Initiator.UNDO, Override("a reason"))
        if guard in FIRM:
            assert override == answer(guard, Initiator.UNDO)
        rows.append([name, *answers, "no" if guard in FIRM else "yes"])
        if guard not in FIRM:
            assert override == "go"
    return [f"| {' | '.join(row)} |" for row in rows]


def test_the_page_says_what_the_gate_answers():
    """To renew the table of the page, put in what this test shows as missing."""
    page = PAGE.read_text(encoding="utf-8").splitlines()
    assert set(NAMES) == set(TABLE)
    missing = [row for row in table() if row not in page]
    assert missing == []


@pytest.mark.parametrize("guard", TABLE)
@pytest.mark.parametrize("initiator", Initiator)
def test_the_gate_has_no_other_rule_than_its_table(guard, initiator):
    if guard is Guard.DWELL and initiator is Initiator.GAIN:
        return  # its cool-down stands first
    if guard is Guard.APPROVAL and initiator is Initiator.APPROVE:
        return  # that is what approves
    assert answer(guard, initiator) == TABLE[guard][initiator].value


class History:
    """A cluster whose topologies want to move all the time, for one reason or another."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        chance = self.random
        self.policy = Policy(
            Mode.AUTOMATIC,
            cool_down_s=chance.choice((0.0, 120.0, 300.0)),
            restarts_per_round=chance.choice((None, 4, 6)),
            restarts_per_hour=chance.choice((8, 20, 60)),
            restarts_per_node=chance.choice((None, 2)),
            workers_at_a_time=chance.choice((None, 1, 2)),
            quiet_hours=chance.choice(((), (QuietTime(720, 725),))),
            topologies=(TopologyRule("t0", pin=chance.random() < 0.5),),
        )
        nodes = supervisors(4, slots=6)
        names = [f"t{n}-{n}-1" for n in range(3)]
        running = [
            replace(
                dealt(topology(name, (2, 2), acker=False), self.slots(n)), id=name, name=name[:2]
            )
            for n, name in enumerate(names)
        ]
        self.state = ClusterState(nodes, tuple(running))
        self.now, self.ahead = 1e6, 0.0
        self.left, self.plan = RoundState(), None
        self.orders, self.undos = NO_ORDERS, {}
        #: Moments at which slots' workers restarted, and when each topology moved last.
        self.restarts, self.moved = [], {}

    def slots(self, number):
        """A topology has two ports of each node of its own: it never wants another's."""
        ports = (6700 + 2 * number, 6701 + 2 * number)
        places = [Slot(f"n{n}", port) for n in range(4) for port in ports]
        return self.random.sample(places, self.random.choice((1, 2, 4)))

    def decide(self, staying):
        decided = []
        for each in self.state.topologies:
            home = tuple(sorted(each.assignment))
            target, reason, action = self.wanted[each.id]
            undo = self.undos.get(each.id)
            if undo is not None:
                action, target = Action.UNDO, undo.workers
                reason = Circumstance.UNDONE
            if each.id in staying or target == home:
                choice = Choice(Action.KEEP, Circumstance.STAYS, Ground.KEPT, home)
                target = home
            else:
                choice = Choice(action, reason, Ground.MEASURED, target, "cut")
            count = len(restarted(home, target))
            value = PlacementFigures(Metrics(1.0, 1.0, 1, len(target), count), None)
            former = home if target != home else ()
            evidence = Evidence(Ground.MEASURED, 1)
            decided.append(Decision(each.id, choice, evidence, value, value, 2, None, former))
        return Decisions(tuple(decided), ())

    def events(self):
        chance = self.random
        if chance.random() < 0.1:
            self.orders = replace(self.orders, is_paused=not self.orders.is_paused)
        if chance.random() < 0.1:
            node = f"n{chance.randrange(4)}"
            self.orders = replace(self.orders, drained=self.orders.drained ^ {node})
        if chance.random() < 0.1:
            self.ahead += chance.choice((-3600.0, 1800.0, 3600.0))
        if chance.random() < 0.1:
            # Another controller leads: it knows what is stored, and by another clock of its own.
            self.left = RoundState(ledger=Ledger(self.left.ledger.spent))
        if chance.random() < 0.2:
            name = f"t{chance.randrange(3)}-"
            each = next(t for t in self.state.topologies if t.id.startswith(name))
            if self.undos.pop(each.id, None) is None:
                target = tuple(sorted(dealt(each, self.slots(int(each.name[1:]))).assignment))
                self.undos[each.id] = Undo(target, chance.choice(list(By)))
        self.wanted = {}
        for each in self.state.topologies:
            target = tuple(sorted(dealt(each, self.slots(int(each.name[1:]))).assignment))
            reason = chance.choice((GAIN, BreaksLimit(Violation("cpu", ""))))
            self.wanted[each.id] = (target, reason, Action.MOVE)

    def round(self):
        self.now += self.random.choice((10.0, 10.0, 35.0, 70.0, 400.0))
        self.events()
        local = datetime.fromtimestamp(self.now + self.ahead)
        rolling = self.left.rollout
        given = Inputs(
            self.state,
            self.policy,
            Settings(),
            self.now,
            local,
            undos=self.undos,
            orders=self.orders,
            last_plan=self.plan,
        )
        with patch.object(context, "decide", lambda question, _: self.decide(question.staying)):
            self.left, governed = play(self.left, given)
        told = {d.topology: d.workers for d in governed.instructions.decided}
        self.check(told, local, rolling)
        if self.random.random() < 0.8:  # else the plan comes too late for Nimbus
            before = self.state
            parts = [TopologyPlan(name, workers, "cut", "") for name, workers in told.items()]
            self.plan = Plan("p", "", int(self.now * 1000), tuple(parts))
            self.state = applied(before, parts)

    def check(self, told, local, rolling):
        policy, in_round, nodes = self.policy, 0, Counter()
        for each in self.state.topologies:
            home = tuple(sorted(each.assignment))
            if told[each.id] == home:
                continue
            slots = restarted(home, told[each.id])
            in_round += len(slots)
            nodes.update(slot.node for slot in slots)
            assert not self.orders.is_paused
            assert not policy.rule_of(each.name).pin
            assert not policy.is_quiet(local)
            begun = [worker for worker in told[each.id] if worker not in home]
            assert not {worker.slot.node for worker in begun} & self.orders.drained
            undo = self.undos.get(each.id)
            is_person = undo is not None and undo.by is By.PERSON
            continues = rolling is not None and each.id in rolling.decisions
            if goes_on(rolling, self.left.rollout):
                assert continues
            if not is_person and not continues:
                since = self.left.pace.since_change((each.id,))
                assert since is None or since >= min(DWELL_SECONDS, policy.cool_down_s)
            self.restarts.append((self.now, each.id, told[each.id], len(slots)))
        assert policy.restarts_per_round is None or in_round <= policy.restarts_per_round
        if policy.restarts_per_node is not None:
            assert max(nodes.values(), default=0) <= policy.restarts_per_node
        assert self.within_the_hour() <= policy.restarts_per_hour

    def within_the_hour(self):
        """Restarts told within the last hour; told again before it was done, one counts once."""
        total, last = 0, {}
        for at, name, target, count in self.restarts:
            if at > self.now - 3600 and last.get(name) != target:
                total += count
            last[name] = target
        return total


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_in_no_history_is_a_guard_ever_broken(part, request):
    """Moves, orders, late plans, fail-overs, clocks that are set: 10,000 histories in full."""
    count = 1000 if request.config.getoption("--hypothesis-profile") == "full" else 20
    moves = 0
    for number in range(count):
        history = History(10_000 * part + number)
        for _ in range(25):
            history.round()
        moves += len(history.restarts)
    assert moves > count
