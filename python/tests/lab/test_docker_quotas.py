import pytest
from docker.errors import APIError
from hypothesis import given
from hypothesis import strategies as st

from stormcut.lab.adapters.clusters.bandwidth import FREE, Bandwidth, parse_bandwidth, tbf_arguments
from stormcut.lab.adapters.clusters.docker import startup
from stormcut.lab.adapters.clusters.docker.limits import (
    Effective,
    NodeLimits,
    parse_effective,
    shortfalls,
)
from stormcut.lab.adapters.clusters.docker.plan import ClusterShape, free_subnet, plan
from stormcut.model.errors import InvalidInput

TBF = "qdisc tbf 8001: root refcnt 3 rate 20Mbit burst 32Kb lat 200ms"
NO_QUEUE = "qdisc noqueue 0: root refcnt 2"
NO_DEVICE = 'Cannot find device "ifb0" Error: Unknown device type.'
LINK_LINES = f"out {TBF}\nin {TBF}\n".encode()
LINK = Bandwidth(20_000_000, 10_000_000)


@pytest.mark.parametrize(
    ("text", "bits"), [("50mbit", 50_000_000), ("1.5gbit", 1_500_000_000), ("500kbit", 500_000)]
)
def test_one_rate_is_read_as_tc_reads_it_and_holds_both_ways(text: str, bits: int) -> None:
    assert parse_bandwidth(text) == Bandwidth(bits, bits)
    assert parse_bandwidth(f"in={text}") == Bandwidth(None, bits)
    assert parse_bandwidth(f"in={text},out=1mbit") == Bandwidth(1_000_000, bits)


ONE_WAY = ["", "50", "50mb", "mbit", "-1mbit", "0mbit", "50 mbit", "1kbit", "5mbit,5mbit"]
EACH_WAY = [
    "out=",
    "out=5",
    "up=5mbit",
    "=5mbit",
    "out=5mbit,",
    "in=5mbit,in=6mbit",
    "in=out=1mbit",
]


@pytest.mark.parametrize("text", ONE_WAY + EACH_WAY)
def test_other_bandwidths_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="50mbit"):
        parse_bandwidth(text)


@given(*[st.none() | st.integers(10_000, 10**11)] * 2)
def test_a_link_is_stated_as_exactly_as_it_is_limited(out: int | None, into: int | None) -> None:
    stated = Bandwidth(out, into).mbit
    if stated and "=" not in stated:
        stated = f"out={stated},in={stated}"
    mbit = dict(part.split("=") for part in stated.split(",") if part)
    assert [way in mbit for way in ("out", "in")] == [out is not None, into is not None]
    found = (float(mbit[way]) * 1e6 if way in mbit else None for way in ("out", "in"))
    assert [*found] == [rate and pytest.approx(rate, rel=1e-9) for rate in (out, into)]


def test_a_burst_holds_ten_milliseconds() -> None:
    assert tbf_arguments(1_000_000) == "rate 1000000bit burst 32768 latency 200ms"
    assert "burst 1250000 " in tbf_arguments(1_000_000_000)


@pytest.mark.parametrize(
    ("cpu", "memory", "expected"),
    [
        ("cpu 30000 100000", "memory 805306368", (0.3, 100_000, 768)),
        ("cpu -1 100000", "memory 9223372036854771712", (None, 100_000, None)),
        ("cpu max 100000", "memory max", (None, None, None)),
        ("cpu  ", "memory ", (None, None, None)),
    ],
    ids=["limited", "free on cgroup v1", "free on cgroup v2", "not to be seen"],
)
def test_what_the_kernel_says(
    cpu: str, memory: str, expected: tuple[float | None, int | None, int | None]
) -> None:
    found = parse_effective(f"{cpu}\n{memory}\nout {NO_QUEUE}\nin {TBF}\n")
    assert (found.cpus, found.period_us, found.memory_mb) == expected
    assert (found.rate_out, found.rate_in) == (None, "20Mbit")
    found = parse_effective(f"{cpu}\n{memory}\nout {TBF}\nin {NO_DEVICE}\n")
    assert (found.rate_out, found.rate_in) == ("20Mbit", None)


def test_each_limit_that_is_not_there_is_named() -> None:
    wanted = NodeLimits(0.3, LINK, 768)
    assert shortfalls(wanted, Effective(0.3, 100_000, 768, TBF, TBF)) == {}
    nothing = Effective(None, None, None, "Operation not permitted", NO_DEVICE)
    assert shortfalls(NodeLimits(None, FREE, None), nothing) == {}
    missing = shortfalls(wanted, nothing)
    assert set(missing) == {"cpu", "memory", "bandwidth out", "bandwidth in"}
    assert "not permitted" in missing["bandwidth out"]
    assert "Unknown device type" in missing["bandwidth in"]
    one_way = Effective(0.3, 100_000, 768, TBF, NO_DEVICE)
    assert set(shortfalls(wanted, one_way)) == {"bandwidth in"}
    assert shortfalls(NodeLimits(0.3, Bandwidth(LINK.out_bits, None), 768), one_way) == {}


class Refusing:
    """A container of an engine that may not set quotas; the kernel has no limit for it, or one."""

    def __init__(self, quota_us: int = -1) -> None:
        self._quota_us = quota_us

    def update(self, **limits: int) -> None:
        raise APIError("500 Server Error", explanation="cgroups: permission denied")

    def exec_run(self, command: list[str], user: str) -> object:
        class Result:
            exit_code = 0
            output = (
                f"cpu {self._quota_us} 100000\nmemory 805306368\nout {TBF}\nin {TBF}\n".encode()
            )

        return Result()


def test_an_engine_without_permission_is_quoted_and_the_cluster_goes_on() -> None:
    cluster = plan("x", ClusterShape(2, cpus=0.3, bandwidth=LINK, memory_mb=768), free_subnet([]))
    refused = startup.limit(cluster, {node.name: Refusing() for node in cluster.nodes})
    assert refused == {"cpu": "node-1: cgroups: permission denied"}
    startup.lift(cluster, {node.name: Refusing() for node in cluster.nodes})


def test_a_quota_that_is_in_force_and_cannot_be_lifted_is_an_error() -> None:
    cluster = plan("x", ClusterShape(2, cpus=0.3, bandwidth=LINK, memory_mb=768), free_subnet([]))
    running = {"node-1": Refusing(), "node-2": Refusing(quota_us=30_000)}
    with pytest.raises(APIError, match="permission denied"):
        startup.lift(cluster, running)
