"""A client of Nimbus's Thrift service: what runs where, and the few orders stormcut gives."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from socket import SOCK_STREAM
from typing import Any

from stormcut.application.waiting import NotYet, Watch, wait_until
from stormcut.model.errors import InvalidInput
from stormcut.model.summaries import (
    ClusterSummary,
    ExecutorSummary,
    SupervisorSummary,
    TopologyInfo,
    TopologySummary,
)

#: Storm's name for the window that covers a worker's whole life.
ALL_TIME = ":all-time"
#: What Nimbus logs when it may give orders.
LEADS = b"Accepting leadership"


class NimbusUnavailable(NotYet):
    """Nimbus did not answer, or not in time."""


class NimbusClient:
    """Calls the Nimbus at ``host:port``, one connection a call.

    Every method raises `NimbusUnavailable` when Nimbus is out of reach or slower than
    ``timeout_s``, and InvalidInput when it is asked about a topology that does not run.
    """

    def __init__(self, host: str, port: int, timeout_s: float = 10.0) -> None:
        self.host = host
        self.port = port
        self._timeout_ms = round(timeout_s * 1000)

    @classmethod
    def at(cls, address: str, timeout_s: float = 10.0) -> NimbusClient:
        """Return the client for an address written ``host:port``, or ``[IPv6 address]:port``."""
        host, _, port = address.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not host or not port.isdigit():
            raise InvalidInput(f"must be host:port, not {address!r}", "address of Nimbus")
        return cls(host, int(port), timeout_s)

    def cluster(self) -> ClusterSummary:
        """Return supervisors and topologies, each sorted (by host, by name)."""
        summary = self._call("getClusterInfo")
        supervisors = (
            SupervisorSummary(
                s.supervisor_id, s.host, s.num_workers, s.num_used_workers, s.uptime_secs
            )
            for s in summary.supervisors
        )
        topologies = (
            TopologySummary(t.id, t.name, t.status, t.num_executors, t.num_workers, t.uptime_secs)
            for t in summary.topologies
        )
        return ClusterSummary(
            tuple(sorted(supervisors, key=lambda supervisor: supervisor.host)),
            tuple(sorted(topologies, key=lambda topology: topology.name)),
            any(nimbus.isLeader for nimbus in summary.nimbuses),
        )

    def topology(self, name: str) -> TopologyInfo:
        """Return what a running topology's executors do and where.

        Executors without a slot are not among them: compare with `TopologySummary.executors`.
        """
        topology_id = self.topology_id(name)
        info = self._call("getTopologyInfo", topology_id)
        # An executor's counts would tell its kind too, but only once it has reported some.
        spouts = self._call("getUserTopology", topology_id).spouts
        executors = sorted(
            (_executor(each, each.component_id in spouts) for each in info.executors),
            key=lambda each: each.start_task,
        )
        return TopologyInfo(info.id, info.name, info.status, tuple(executors))

    def topology_id(self, name: str) -> str:
        """Return the id of the running topology of this name."""
        running = self.cluster().topologies
        for topology in running:
            if topology.name == name:
                return topology.id
        names = ", ".join(topology.name for topology in running) or "none"
        raise InvalidInput(f"no topology of this name runs (running: {names})", f"topology {name}")

    def topology_conf(self, name: str) -> dict[str, Any]:
        """Return a topology's configuration merged with Nimbus's own."""
        conf: dict[str, Any] = json.loads(self._call("getTopologyConf", self.topology_id(name)))
        return conf

    def activate(self, name: str) -> None:
        """Have a deactivated topology's spouts emit again; returns at once."""
        self._call("activate", name)

    def deactivate(self, name: str) -> None:
        """Have a topology's spouts emit no more; returns at once.

        Workers stay, and what is on its way is still processed.
        """
        self._call("deactivate", name)

    def kill_topology(self, name: str, wait_secs: int = 0) -> None:
        """Stop a topology's spouts, wait ``wait_secs`` seconds, then end its workers.

        Returns at once; the topology is gone when `cluster` no longer lists it.
        """
        from streamparse.thrift import KillOptions

        self._call("killTopologyWithOpts", name, KillOptions(wait_secs=wait_secs))

    def end_topology(self, name: str, patience_s: float = 60.0, watch: Watch | None = None) -> None:
        """Kill a topology and wait until it is gone.

        Raises
        ------
        TimedOut
            It is still there after ``patience_s`` seconds: see `wait_until`.
        """
        self.kill_topology(name)
        wait_until(
            lambda: all(each.name != name for each in self.cluster().topologies),
            patience_s,
            f"topology {name} is gone",
            # What its executors count tells nothing of its end.
            watch=watch and replace(watch, moves=tuple),
        )

    def rebalance(self, name: str, wait_secs: int = 0) -> None:
        """Have the scheduler place a topology again in ``wait_secs`` seconds; returns at once."""
        from streamparse.thrift import RebalanceOptions

        self._call("rebalance", name, RebalanceOptions(wait_secs=wait_secs))

    def _call(self, method: str, *arguments: object) -> Any:
        # streamparse parses Storm's whole Thrift file on import: only commands that talk to
        # Nimbus wait for that.
        from streamparse.thrift import Nimbus as Service
        from streamparse.thrift import NotAliveException
        from thriftpy2.protocol import TBinaryProtocolFactory
        from thriftpy2.thrift import TClient, TException

        where = f"Nimbus at {self.host}:{self.port}"
        try:
            with closing(self._connect()) as transport:
                protocol = TBinaryProtocolFactory().get_protocol(transport)  # type: ignore[no-untyped-call]
                return getattr(TClient(Service, protocol), method)(*arguments)
        except NotAliveException as error:
            raise InvalidInput(f"no such topology runs: {arguments[0]}", where) from error
        except (OSError, EOFError, TException) as error:
            raise NimbusUnavailable(f"{where} does not answer {method}: {error!r}") from error

    def _connect(self) -> Any:
        """Return an open transport to the first of the host's addresses that takes one.

        thriftpy2's own clients know IPv4 alone.
        """
        from thriftpy2.transport import (
            TFramedTransportFactory,
            TSocket,
            TTransportException,
        )

        refused: Exception | None = None
        for family, *_, address in socket.getaddrinfo(self.host, self.port, type=SOCK_STREAM):
            its_socket = TSocket(  # type: ignore[no-untyped-call]
                address[0],
                self.port,
                socket_family=family,
                connect_timeout=self._timeout_ms,
                socket_timeout=self._timeout_ms,
            )
            transport = TFramedTransportFactory().get_transport(its_socket)  # type: ignore[no-untyped-call]
            try:
                transport.open()
            except (OSError, TTransportException) as error:
                refused = error
            else:
                return transport
        raise refused or OSError("it has no address")


def _executor(summary: Any, is_spout: bool) -> ExecutorSummary:
    stats = summary.stats
    specific = (stats.specific.spout if is_spout else stats.specific.bolt) if stats else None
    return ExecutorSummary(
        component=summary.component_id,
        start_task=summary.executor_info.task_start,
        end_task=summary.executor_info.task_end,
        host=summary.host,
        port=summary.port,
        uptime_s=summary.uptime_secs,
        is_spout=is_spout,
        emitted=_total(stats.emitted) if stats else 0,
        transferred=_total(stats.transferred) if stats else 0,
        acked=_total(specific.acked) if specific else 0,
        failed=_total(specific.failed) if specific else 0,
        complete_ms=_mean(specific.complete_ms_avg, specific.acked)
        if specific and is_spout
        else None,
    )


def _total(windows: Mapping[str, Mapping[Any, int]]) -> int:
    return sum(windows.get(ALL_TIME, {}).values())


def _mean(
    averages: Mapping[str, Mapping[Any, float]], counts: Mapping[str, Mapping[Any, int]]
) -> float | None:
    total = _total(counts)
    if total == 0:
        return None
    weights = counts[ALL_TIME]
    weighted: Iterable[float] = (
        mean * weights.get(stream, 0) for stream, mean in averages.get(ALL_TIME, {}).items()
    )
    return sum(weighted) / total


def leads_again(nimbus: NimbusClient, log: Path) -> Callable[[], bool]:
    """Return what tells whether a Nimbus has taken the lead since now, and answers.

    Its answer alone does not tell: until its old ZooKeeper session ends, a Nimbus that restarted
    takes the old one, of the same address, for the leader, and refuses all orders. Nor does its
    log: it leads before it answers.
    """
    before = log.stat().st_size

    def leads() -> bool:
        with log.open("rb") as file:
            file.seek(before)
            return LEADS in file.read() and nimbus.cluster().has_leader

    return leads
