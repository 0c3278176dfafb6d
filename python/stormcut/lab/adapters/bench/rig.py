"""Topologies of a bench on one Docker cluster: started, then held; at most one of them runs."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from stormcut.adapters.machine.home import logs_folder
from stormcut.application.waiting import TimedOut, wait_until
from stormcut.lab.adapters.bench.counters import read_counters
from stormcut.lab.adapters.bench.reports import newest
from stormcut.lab.adapters.bench.workers import TOPOLOGY_PATIENCE, hold, let_go
from stormcut.lab.adapters.clusters.bandwidth import Bandwidth
from stormcut.lab.adapters.clusters.docker import DockerCluster
from stormcut.lab.adapters.storm.topology_project import load
from stormcut.lab.adapters.storm.topology_site import docker_site
from stormcut.lab.experiment.bench.contest import Host
from stormcut.lab.experiment.bench.counters import NodeCounters, usage
from stormcut.lab.experiment.bench.ports import Entrant
from stormcut.lab.experiment.bench.windows import Sample, acked_per_s
from stormcut.lab.experiment.ports import Servers
from stormcut.model.errors import StormcutError
from stormcut.model.network import Link

#: Of served time without progress: JVMs start at once, beside those that are held.
START_S = 180.0
#: A topology is warm when its rate grows by less than this factor from one slice to the next, with
#: CPU limits lifted: JVMs load and compile code while they run.
WARM_GROWTH, WARM_UP_SLICE_S = 1.05, 5.0
MAX_WARM_UP_S = 60.0
#: A deactivated topology has drained when all nodes together send no more than so many Mbit/s for
#: `QUIET_S`: heartbeats and metrics go on. It is given `DRAIN_S` for that.
QUIET_MBIT_S = 0.5
QUIET_S = 0.7
DRAIN_S = 20.0


class ClusterRig:
    """Starts, runs and ends topologies on a cluster; CPU quotas are in force while one runs."""

    def __init__(self, cluster: DockerCluster) -> None:
        self._cluster = cluster
        self._site = docker_site(cluster)
        self._nimbus = self._site.nimbus
        self._refused = set(cluster.refused)
        self._lifted = False

    @property
    def nodes(self) -> dict[str, Host]:
        """The nodes by name."""
        plan = self._cluster.plan
        sizes = plan.shape.sizes or (1,) * len(plan.nodes)
        return {
            node.name: Host(
                node.address,
                size,
                node.limits.cpus and 100 * node.limits.cpus,
                _link(node.limits.bandwidth),
            )
            for node, size in zip(plan.nodes, sizes, strict=True)
        }

    @property
    def cores(self) -> int:
        """Cores of this machine."""
        return psutil.cpu_count() or 1

    def counters(self) -> NodeCounters:
        """Return what the nodes have used so far."""
        plan = self._cluster.plan
        return read_counters([plan.container_name(node) for node in plan.nodes])

    def samples(self, entrant: Entrant) -> dict[str, Sample]:
        """Return the newest sample of each source task."""
        return newest(entrant.reports, entrant.sources)

    @property
    def servers(self) -> Servers:
        """The servers that topologies may need."""
        return self._site.servers

    def start(self, name: str, topology: str, options: Mapping[str, object]) -> Entrant:
        """Submit a topology, let it run without limits until it is warm, then hold it.

        Parameters
        ----------
        options : mapping
            The topology's own by their names, Storm keys as they are.

        Raises
        ------
        StormcutError
            It cannot be submitted, or does not ack in time.
        """
        self._lift(True)
        reports = self._site.submit(topology, name, {**TOPOLOGY_PATIENCE, **options})
        sources = frozenset(spout.name for spout in load(topology).spouts)
        entrant = Entrant(name, self._nimbus.topology_id(name), sources, reports.folders)
        try:
            watch = self._cluster.watch(name)
            wait_until(
                lambda: self._acks(entrant), START_S, f"all sources of {name} ack", watch=watch
            )
            self._warm_up(entrant)
            self.pause(entrant)
        except StormcutError as error:
            kept = self._kept_logs(entrant)
            self._end_somehow(entrant)
            raise StormcutError(f"{error}; its workers' logs: {kept}") from error
        except BaseException:
            self._end_somehow(entrant)
            raise
        return entrant

    def _end_somehow(self, entrant: Entrant) -> None:
        with suppress(StormcutError):
            self.end(entrant)

    def _kept_logs(self, entrant: Entrant) -> Path:
        """Copy the logs of a topology that does not start to where nothing removes them."""
        kept = logs_folder(entrant.name)
        for folder in self._cluster.log_folders:
            if (folder / entrant.id).exists():
                node = folder.parent.parent.name
                # Its workers still write: what is renamed meanwhile is not worth a bench.
                with suppress(OSError):
                    shutil.copytree(folder / entrant.id, kept / node, dirs_exist_ok=True)
        return kept

    def _acks(self, entrant: Entrant) -> bool:
        spouts = [e for e in self._nimbus.topology(entrant.name).executors if e.is_spout]
        tasks = sum(e.end_task - e.start_task + 1 for e in spouts)
        samples = self.samples(entrant).values()
        return len(samples) == tasks > 0 and all(each.acked for each in samples)

    def _warm_up(self, entrant: Entrant) -> None:
        """Wait until an entrant's rate stops growing, lest it be measured colder than others."""
        before, rate = self.samples(entrant), 0.0
        deadline = time.monotonic() + MAX_WARM_UP_S
        while time.monotonic() < deadline:
            time.sleep(WARM_UP_SLICE_S)
            now = self.samples(entrant)
            last, rate = rate, acked_per_s(before, now)
            if last and rate <= WARM_GROWTH * last:
                return
            before = now

    def hosts(self, entrant: Entrant) -> dict[int, str]:
        """Return the host of each executor, by first task."""
        executors = self._nimbus.topology(entrant.name).executors
        return {each.start_task: each.host for each in executors}

    @contextmanager
    def running(self, entrant: Entrant) -> Iterator[None]:
        """Let an entrant run while the block does, with the quotas in force."""
        self._lift(False)
        let_go(entrant.id)
        self._nimbus.activate(entrant.name)
        try:
            yield
        finally:
            self.pause(entrant)

    def pause(self, entrant: Entrant) -> None:
        """Stop an entrant's sources, let it drain, hold it."""
        self._nimbus.deactivate(entrant.name)
        # Tasks learn of it within a second.
        time.sleep(1.0)
        with suppress(TimedOut):
            wait_until(self._is_quiet, DRAIN_S, f"{entrant.name} drains", poll_s=0.0)
        hold(entrant.id)

    def _is_quiet(self) -> bool:
        before = self.counters()
        time.sleep(QUIET_S)
        return usage(before, self.counters()).sent_mbit_s <= QUIET_MBIT_S

    def end(self, entrant: Entrant) -> None:
        """Kill a topology and remove its logs; those that read them have done so."""
        let_go(entrant.id)
        self._nimbus.end_topology(entrant.name, watch=self._cluster.watch(entrant.name))
        for folder in self._cluster.log_folders:
            shutil.rmtree(folder / entrant.id, ignore_errors=True)

    def _lift(self, wanted: bool) -> None:
        if wanted != self._lifted:
            if wanted:
                self._cluster.lift()
            else:
                self._cluster.limit()
                self._check_limits()
            self._lifted = wanted

    def _check_limits(self) -> None:
        # By kind: an engine's words may name a process or a container.
        if set(self._cluster.refused) != self._refused:
            refused = self._cluster.refused.items()
            now = "; ".join(f"{kind} ({why})" for kind, why in refused) or "none"
            raise StormcutError(f"other limits are refused than at the start: {now}")


def _link(bandwidth: Bandwidth) -> Link:
    out, into = (
        None if bits is None else bits / 1e6 for bits in (bandwidth.out_bits, bandwidth.in_bits)
    )
    return Link(out, into)
