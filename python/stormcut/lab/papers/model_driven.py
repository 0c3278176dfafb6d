"""The figures of model-driven scheduling.

References
----------
A. Shukla, Y. Simmhan, "Model-driven scheduling for distributed stream processing systems", J.
Parallel Distrib. Comput. 117 (2018), sections 8.3 to 8.6.
"""

from __future__ import annotations

from collections.abc import Iterator

from stormcut.lab.papers.claims import Gain, GainRange, Limit, Order, PaperClaim, Printed
from stormcut.lab.papers.figures import WORKED_EXAMPLE, Case, Figure, Paper

MICRO, APPLICATIONS = ("linear", "diamond", "star"), ("finance", "traffic", "grid")
_PLANS = ("lsa+rsm", "mba+sam", "mba+cut")
_PAIRS = ("lsa+dsm", "lsa+rsm", "lsa+cut", "mba+dsm", "mba+rsm", "mba+sam", "mba+cut")
_UNLIKE = "needs a model of tasks that wait without CPU, which the simulator does not have"


def _slot_cases(name: str, omegas: tuple[int, ...]) -> tuple[Case, ...]:
    return tuple(
        Case(f"{plan} at {omega}", name, plan, "slots", {"omega": omega})
        for plan in _PLANS
        for omega in omegas
    )


def _slots(
    number: str, name: str, omegas: tuple[int, ...], claims: tuple[PaperClaim, ...]
) -> Figure:
    return Figure(
        number,
        f"slots for a rate: {name}",
        "8.4.1" if name in MICRO else "8.4.2",
        _slot_cases(name, omegas),
        claims,
        "slots",
        "slots",
    )


def _saves(name: str, omegas: tuple[int, ...]) -> GainRange:
    pairs = [(f"mba+sam at {omega}", f"lsa+rsm at {omega}") for omega in omegas]
    return GainRange(f"33 to 50 % fewer slots: {name}", pairs, "slots", (1 - 0.33, 1 - 0.5))


def _half(name: str) -> Gain:
    sentence = f"LSA takes nearly twice the slots of MBA: {name} at 100"
    return Gain(sentence, "lsa+rsm at 100", "mba+sam at 100", "slots", 2.0)


def _rate_figures() -> Iterator[Figure]:
    for part, name in zip("abc", MICRO, strict=True):
        cases = tuple(Case(plan, name, plan, "rates") for plan in _PAIRS)
        yield Figure(
            f"9 {part}",
            f"planned rate on five machines of four slots: {name}",
            "8.5",
            cases,
            _planned_claims(name),
            "planned",
            "tuples/s",
        )
        yield Figure(
            f"10 {part}",
            f"predicted rate on five machines of four slots: {name}",
            "8.5",
            cases,
            _predicted_claims(name),
            "predicted",
            "tuples/s",
        )


def _planned_claims(name: str) -> tuple[PaperClaim, ...]:
    if name == "linear":
        return (
            Printed("MBA with DSM plans 280", {"mba+dsm": 280}, "planned"),
            Printed("MBA with SAM plans 280", {"mba+sam": 280}, "planned"),
            Printed("LSA with DSM plans 160", {"lsa+dsm": 160}, "planned"),
        )
    if name == "star":
        return (Printed("MBA with SAM plans 240", {"mba+sam": 240}, "planned"),)
    return (Order("MBA plans more than LSA", ("mba+sam", "lsa+rsm"), "planned"),)


def _predicted_claims(name: str) -> tuple[PaperClaim, ...]:
    gains = GainRange(
        "MBA carries 20 to 175 % more than LSA",
        [("mba+dsm", "lsa+dsm"), ("mba+rsm", "lsa+rsm")],
        "predicted",
        (1.20, 2.75),
    )
    if name != "linear":
        return (gains,)
    return (
        Printed("MBA with DSM carries 200", {"mba+dsm": 200}, "predicted_lower"),
        Printed("MBA with RSM carries 315", {"mba+rsm": 315}, "predicted"),
        Printed("MBA with SAM carries 280", {"mba+sam": 280}, "predicted"),
        gains,
    )


def _figures() -> Iterator[Figure]:
    yield Figure(
        "3 a-e",
        "rate, CPU and memory of five tasks over threads",
        "8.3",
        left_out="`stormcut model build` measures such models on Docker; "
        "docs/results/capacity-models.md has some",
    )
    yield Figure(
        "4",
        "DSM, RSM and SAM of a sample",
        "7",
        left_out=WORKED_EXAMPLE,
    )
    micro = (50, 100, 200)
    yield _slots(
        "7 a",
        "linear",
        micro,
        (
            Printed("LSA with RSM at 50", {"lsa+rsm at 50": 7}, "slots"),
            Printed("LSA with RSM at 100", {"lsa+rsm at 100": 13}, "slots"),
            Printed("LSA with RSM at 200", {"lsa+rsm at 200": 28}, "slots"),
            Printed("MBA with SAM at 50", {"mba+sam at 50": 4}, "slots"),
            Printed("MBA with SAM at 100", {"mba+sam at 100": 7}, "slots"),
            Printed("MBA with SAM at 200", {"mba+sam at 200": 15}, "slots"),
            _half("linear"),
        ),
    )
    yield _slots(
        "7 b",
        "diamond",
        micro,
        (
            Printed("RSM takes a slot beyond LSA's at 50", {"lsa+rsm at 50": 1}, "extra"),
            Limit(
                "SAM takes none beyond MBA's", ("mba+sam at 50", "mba+sam at 100"), "extra", 0, ""
            ),
            _half("diamond"),
        ),
    )
    yield _slots("7 c", "star", micro, (_half("star"),))
    few = (50, 100)
    for part, name in zip("abc", APPLICATIONS, strict=True):
        claims: list[PaperClaim] = [_saves(name, few)]
        if name == "grid":
            claims.append(Printed("LSA with RSM at 100", {"lsa+rsm at 100": 65}, "slots"))
        claims.append(
            Limit(
                "RSM takes 1 to 3 slots beyond LSA's",
                [f"lsa+rsm at {omega}" for omega in few],
                "extra",
                1,
                "slots",
                at_least=True,
            )
        )
        yield _slots(f"8 {part}", name, few, tuple(claims))
    yield from _rate_figures()
    for number, title, where in (
        ("11 a-c", "CPU of each machine, predicted and measured", "8.6"),
        ("12 a-c", "memory of each machine, predicted and measured", "8.6"),
        ("13", "latency of five pairs on three dataflows", "8.6"),
    ):
        yield Figure(number, title, where, left_out=_UNLIKE)


MODEL_DRIVEN = Paper(
    "model-driven",
    "A. Shukla, Y. Simmhan, Model-driven scheduling for distributed stream processing systems, J. "
    "Parallel Distrib. Comput. 117, 2018",
    "Allocating by models takes 33 to 50 % fewer slots than by one thread's, and mapping by them "
    "carries what was planned.",
    "Models and dataflows are printed but for the wiring and the tasks of three applications. "
    "Slots and rates are planned and predicted; no run is simulated.",
    tuple(_figures()),
)
