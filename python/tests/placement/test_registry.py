import pytest

from stormcut.model.errors import InvalidInput
from stormcut.placement.registry import ALGORITHMS, algorithm, parse_options


def test_names_are_keys():
    assert all(name == each.name for name, each in ALGORITHMS.items())


def test_an_unknown_algorithm_is_answered_with_those_there_are():
    with pytest.raises(InvalidInput, match=r"even, exact, .*p-scheduler"):
        algorithm("best")


def test_options_are_read_as_their_type():
    options = parse_options(
        algorithm("p-scheduler"),
        {"cpu_share": "0.5", "max_tasks_per_worker": "2", "capacity": "smallest"},
    )
    assert (options.cpu_share, options.max_tasks_per_worker) == (0.5, 2)
    assert (options.partitioner, options.capacity) == ("recursive", "smallest")


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("cpu_share", "much", "a number"),
        ("cpu_share", "0", "above 0"),
        ("cpu_share", "nan", "above 0"),
        ("max_tasks_per_worker", "1.5", "a whole number"),
        ("max_tasks_per_worker", "0", "at least 1"),
        ("partitioner", "magic", "recursive or kway"),
        ("capacity", "", "refuse or smallest"),
    ],
)
def test_bad_values_are_answered_with_what_is_allowed(key, value, allowed):
    with pytest.raises(InvalidInput, match=allowed) as caught:
        parse_options(algorithm("p-scheduler"), {key: value})
    assert key in str(caught.value)


@pytest.mark.parametrize(
    ("name", "blind", "sighted"),
    [("stromax", "bootstrap", "rebalance"), ("bframework", "offline", "online")],
)
def test_modes_that_use_traffic_need_a_topology_that_runs(name, blind, sighted):
    chosen = algorithm(name)
    uses = {
        mode: [chosen.uses_traffic(parse_options(chosen, {"mode": mode}), runs) for runs in (0, 1)]
        for mode in (blind, "auto", sighted)
    }
    assert [list(map(bool, each)) for each in uses.values()] == [
        [False, False],
        [False, True],
        [False, True],
    ]
