import time
from collections.abc import Callable
from typing import Any

import pytest

from micro.build import build
from micro.components import Relay, Sink, Source
from micro.layout import Layout, diamond, linear, star
from micro.published import DIAMOND, LINEAR, LINEAR_R, RANDOM
from micro.settings import micro

KEYS = {"keys": 8, "local_share": 1.0, "shift_seconds": 0.0, "shift_period": 0.0}


def task_edges(layout: Layout) -> int:
    return sum(layout.tasks[sender] * layout.tasks[receiver] for sender, receiver in layout.edges)


@pytest.mark.parametrize(
    ("tasks", "chain", "rhombus", "wheel"),
    [(10, 16, 16, 24), (18, 32, 80, 56), (26, 48, 144, 88), (32, 60, 192, 112)],
)
def test_layouts_have_the_published_task_edges(
    tasks: int, chain: int, rhombus: int, wheel: int
) -> None:
    outer = (tasks - 4) // 2
    layouts = (
        linear(bolts=tasks // 2 - 1, tasks=2),
        diamond(middles=(tasks - 8) // 2, tasks=2, ends=4),
        star((outer + 1) // 2, outer // 2, source_tasks=2, hub=4, sink_tasks=2),
    )
    assert [sum(layout.tasks.values()) for layout in layouts] == [tasks] * 3
    assert [task_edges(layout) for layout in layouts] == [chain, rhombus, wheel]


def test_published_layouts() -> None:
    assert list(RANDOM.tasks.values()) == [6, 5, 4, 4, 5]
    assert list(LINEAR.tasks.values()) == [3, 4, 3, 4]
    assert list(DIAMOND.tasks.values()) == [10, 10, 10, 10]
    assert list(LINEAR_R.tasks.values()) == [16, 16, 8, 4, 1]


@pytest.mark.parametrize("language", ["python", "java"])
def test_topologies_have_their_layout(language: str) -> None:
    options = micro(given={"language": language, "scale": 0.5, "grouping": "fields"})
    topology = build("Test", RANDOM, options)
    found = {spec.name: (spec.par, len(spec.inputs)) for spec in topology.specs}
    assert found == {
        "source": (3, 0),
        "bolt_1": (2, 1),
        "bolt_2": (2, 1),
        "bolt_3": (2, 1),
        "sink": (2, 2),
    }
    assert list(topology.thrift_spouts) == ["source"]


@pytest.mark.parametrize("grouping", ["shuffle", "local_or_shuffle", "fields"])
def test_components_are_joined_as_asked(grouping: str) -> None:
    topology = build("Test", LINEAR, micro(given={"grouping": grouping}))
    joined = [how for spec in topology.specs for how in spec.inputs.values()]
    assert len(joined) == 3
    assert all(getattr(how, grouping) is not None for how in joined)


def test_keys_stay_as_often_as_asked(bench: Callable[..., Any]) -> None:
    assert {key for key, _ in bench(Source, **KEYS).next()} == {0}
    relay = bench(Relay, **{**KEYS, "local_share": 0.5})
    kept = sum(relay.give(3, number) == [[3, number]] for number in range(2000)) / 2000
    # half stay, and an eighth of the others meet the same key again
    assert abs(kept - (0.5 + 0.5 / 8)) < 0.05


def test_sinks_take_tuples_in(bench: Callable[..., Any]) -> None:
    sink = bench(Sink, **KEYS)
    assert sink.give(3, 1) == []
    assert sink.acked == ["1"]


def test_after_the_shift_what_stayed_goes_on_to_the_next_odd_key(bench: Callable[..., Any]) -> None:
    # The topology was launched in 2023.
    relay = bench(Relay, **{**KEYS, "shift_seconds": 60.0})
    assert relay.give(3, 1) == [[5, 1]]
    assert relay.give(4, 1) == [[5, 1]]
    assert relay.give(7, 2) == [[1, 2]]
    later = bench(Relay, **{**KEYS, "shift_seconds": 1e9})
    assert later.give(3, 1) == [[3, 1]]


def test_with_a_period_odd_and_even_keys_take_turns(bench: Callable[..., Any]) -> None:
    # The topology was launched in 2023.
    since = time.time() - 1_700_000_000
    for shifts in range(1, 5):
        begun = {"shift_seconds": since + 500 - 1000 * shifts, "shift_period": 1000.0}
        relay = bench(Relay, **{**KEYS, **begun})
        expected = [5, 5, 1] if shifts % 2 else [4, 6, 0]
        assert [relay.give(key, 1) for key in (3, 4, 7)] == [[[key, 1]] for key in expected]
