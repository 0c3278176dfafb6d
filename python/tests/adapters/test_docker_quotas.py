import pytest
from docker.errors import APIError

from stormcut.adapters.docker_cluster import startup
from stormcut.adapters.docker_cluster.limits import (
    Effective,
    Limits,
    parse_bandwidth,
    parse_effective,
    shortfalls,
    tbf_arguments,
)
from stormcut.adapters.docker_cluster.plan import Shape, free_subnet, plan
from stormcut.model.errors import InvalidInput

TBF = "qdisc tbf 8001: root refcnt 3 rate 20Mbit burst 32Kb lat 200ms"
NO_QUEUE = "qdisc noqueue 0: root refcnt 2"


@pytest.mark.parametrize(
    ("text", "bits"), [("50mbit", 50_000_000), ("1.5gbit", 1_500_000_000), ("500kbit", 500_000)]
)
def test_rates_are_read_as_tc_reads_them(text: str, bits: int) -> None:
    assert parse_bandwidth(text) == bits


@pytest.mark.parametrize("text", ["", "50", "50mb", "mbit", "-1mbit", "0mbit", "50 mbit", "1kbit"])
def test_other_rates_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="50mbit"):
        parse_bandwidth(text)


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
    found = parse_effective(f"{cpu}\n{memory}\ntc {NO_QUEUE}\n")
    assert (found.cpus, found.period_us, found.memory_mb) == expected
    assert not found.is_shaped
    assert parse_effective(f"{cpu}\n{memory}\ntc {TBF}\n").is_shaped


def test_each_limit_that_is_not_there_is_named() -> None:
    wanted = Limits(0.3, 20_000_000, 768)
    assert shortfalls(wanted, Effective(0.3, 100_000, 768, TBF)) == {}
    assert shortfalls(Limits(None, None, None), Effective(None, None, None, NO_QUEUE)) == {}
    nothing = shortfalls(wanted, Effective(None, None, None, "Operation not permitted"))
    assert set(nothing) == {"cpu", "memory", "bandwidth"}
    assert "not permitted" in nothing["bandwidth"]


class Refusing:
    """A container of an engine that may not set quotas; the kernel has no limit for it, or one."""

    def __init__(self, quota_us: int = -1) -> None:
        self._quota_us = quota_us

    def update(self, **limits: int) -> None:
        raise APIError("500 Server Error", explanation="cgroups: permission denied")

    def exec_run(self, command: list[str], user: str) -> object:
        class Result:
            exit_code = 0
            output = f"cpu {self._quota_us} 100000\nmemory 805306368\ntc {TBF}\n".encode()

        return Result()


def test_an_engine_without_permission_is_quoted_and_the_cluster_goes_on() -> None:
    cluster = plan("x", Shape(2, cpus=0.3, bandwidth_bits=10**7, memory_mb=768), free_subnet([]))
    refused = startup.limit(cluster, {node.name: Refusing() for node in cluster.nodes})
    assert refused == {"cpu": "node-1: cgroups: permission denied"}
    startup.lift(cluster, {node.name: Refusing() for node in cluster.nodes})


def test_a_quota_that_is_in_force_and_cannot_be_lifted_is_an_error() -> None:
    cluster = plan("x", Shape(2, cpus=0.3, bandwidth_bits=10**7, memory_mb=768), free_subnet([]))
    running = {"node-1": Refusing(), "node-2": Refusing(quota_us=30_000)}
    with pytest.raises(APIError, match="permission denied"):
        startup.lift(cluster, running)
