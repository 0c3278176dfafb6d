import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamparse import thrift

from stormcut.adapters.storm import nimbus
from stormcut.adapters.storm.nimbus import NimbusClient, NimbusUnavailable
from stormcut.application.waiting import wait_until
from stormcut.model.errors import InvalidInput


@pytest.mark.parametrize("address", ["", "6627", "localhost:", "localhost:x", ":6627"])
def test_an_address_needs_host_and_port(address: str) -> None:
    with pytest.raises(InvalidInput, match="host:port"):
        NimbusClient.at(address)


@pytest.fixture
def silent_port() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_a_nimbus_that_hangs_is_unavailable_in_time(silent_port: int) -> None:
    with pytest.raises(NimbusUnavailable, match=f"127.0.0.1:{silent_port}.*getClusterInfo"):
        NimbusClient("127.0.0.1", silent_port, timeout_s=0.2).cluster()


@pytest.mark.parametrize("form", ["[::1]:{}", "::1:{}"])
def test_a_nimbus_on_ipv6_is_reached(form: str) -> None:
    with socket.socket(socket.AF_INET6) as server:
        server.bind(("::1", 0))
        server.listen()
        server.settimeout(10.0)
        address = form.format(server.getsockname()[1])
        nimbus = NimbusClient.at(address, timeout_s=0.2)
        with pytest.raises(NimbusUnavailable, match="getClusterInfo"):
            nimbus.cluster()
        connection, _ = server.accept()
        with connection:
            assert b"getClusterInfo" in connection.recv(100)


def test_a_nimbus_that_is_down_is_unavailable(silent_port: int) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(NimbusUnavailable):
            NimbusClient("127.0.0.1", port).cluster()


def test_a_nimbus_out_of_reach_is_asked_again() -> None:
    answers: Iterator[object] = iter([NimbusUnavailable("down"), "up"])

    def ask() -> object:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert wait_until(ask, 5.0, "Nimbus answers", poll_s=0.0) == "up"


def _summary(stats: object) -> thrift.ExecutorSummary:
    return thrift.ExecutorSummary(
        executor_info=thrift.ExecutorInfo(task_start=3, task_end=4),
        component_id="numbers",
        host="127.0.1.1",
        port=20002,
        uptime_secs=9,
        stats=stats,
    )


def test_a_spout_counts_all_streams_and_weighs_its_latencies() -> None:
    window = nimbus.ALL_TIME
    spout = thrift.SpoutStats(
        acked={window: {"a": 30, "b": 10}, "600": {"a": 5}},
        failed={window: {"a": 1}},
        complete_ms_avg={window: {"a": 2.0, "b": 6.0}},
    )
    stats = thrift.ExecutorStats(
        emitted={window: {"a": 50, "b": 20}},
        transferred={window: {"a": 40}},
        specific=thrift.ExecutorSpecificStats(spout=spout),
        rate=1.0,
    )
    executor = nimbus._executor(_summary(stats), is_spout=True)
    assert (executor.emitted, executor.transferred) == (70, 40)
    assert (executor.acked, executor.failed, executor.complete_ms) == (40, 1, 3.0)


def test_an_executor_that_has_not_reported_yet_counts_nothing() -> None:
    executor = nimbus._executor(_summary(None), is_spout=True)
    assert (executor.acked, executor.complete_ms, executor.is_spout) == (0, None, True)
    assert (executor.start_task, executor.end_task) == (3, 4)


def test_a_nimbus_that_restarted_leads_once_it_has_said_so_and_answers(tmp_path: Path) -> None:
    log = tmp_path / "nimbus.log"
    log.write_text("Accepting leadership\n")
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    leads = nimbus.leads_again(NimbusClient("127.0.0.1", port), log)
    assert not leads(), "that was the one before"
    with log.open("a") as file:
        file.write("Accepting leadership, all active topologies found locally.\n")
    with pytest.raises(NimbusUnavailable):
        leads()
