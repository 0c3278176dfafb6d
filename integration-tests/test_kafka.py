"""Metrics by way of Kafka: real workers, a real broker, Spark, and the controller."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka_broker import Broker, connector
from small_clusters import SLOW_BUT_SMALL
from stage import Stage, read_until
from test_operate import operating

from stormcut.adapters.files.kafka_topic import KafkaTopic, connector_jars
from stormcut.adapters.machine import home
from stormcut.adapters.spark.profiling import profile_logs
from stormcut.adapters.spark.session import spark_session
from stormcut.adapters.spark.streaming import StreamSettings, metrics_stream
from stormcut.adapters.zookeeper.nodes import nodes_at
from stormcut.application.waiting import wait_until
from stormcut.lab.adapters.clusters.local import LocalCluster
from stormcut.lab.adapters.storm.sparse_submit import submit
from stormcut.profile.decay import DecayedTotals, Slice

pytestmark = [pytest.mark.cluster, pytest.mark.full, pytest.mark.xdist_group("kafka")]

METRICS_LOG = "worker.log.metrics"
INTERVAL_S = 5


class KafkaStage:
    """A cluster whose workers have Kafka's client, a broker, and the jars for Spark."""

    def __init__(self, cluster: LocalCluster, broker: Broker, jars: Path) -> None:
        self.stage = Stage(cluster, cluster.log_files()["nimbus"])
        self.broker = broker
        self.jars = jars
        for client in jars.glob("kafka-clients-*.jar"):
            shutil.copy(client, cluster.folder / "supervisor-0" / "extlib")

    def submit(self, name: str) -> str:
        """Submit a small topology with both metrics consumers; return its id, and topic."""
        cluster = self.stage.cluster
        consumers = [
            {"class": "org.apache.storm.metric.LoggingMetricsConsumer", "parallelism.hint": 1},
            {
                "class": "io.stormcut.KafkaMetricsConsumer",
                "parallelism.hint": 1,
                "argument": {
                    "topic": name,
                    "bootstrap.servers": self.broker.address,
                    "delivery.timeout.ms": 10_000,
                    "request.timeout.ms": 5_000,
                },
            },
        ]
        submit(
            project=home.topologies(),
            topology="linear",
            name=name,
            nimbus=cluster.nimbus_address,
            workers=1,
            options={
                "rig.language": "java",
                "rig.rate": 50,
                "rig.bolts": 1,
                "rig.tasks": 2,
                "stormcut.hook.interval.secs": INTERVAL_S,
                "topology.metrics.consumer.register": consumers,
            },
            environment={},
            virtualenv=Path(sys.prefix),
            work_folder=cluster.folder / "sparse",
            jar=home.topologies_jar(),
        )
        return cluster.nimbus.topology_id(name)

    def kill(self, name: str) -> None:
        self.stage.nimbus.kill_topology(name)
        wait_until(lambda: not self.stage.worker_processes(), 120, "its worker has ended")

    def log(self, topology: str, name: str) -> list[str]:
        """Return the lines of a log of a topology's worker."""
        (folder,) = self.stage.cluster.log_folders
        logs = folder.glob(f"{topology}/*/{name}")
        return [line for log in logs for line in log.read_text().splitlines()]

    def acked(self, name: str) -> int:
        """Return how many tuples its spouts have acked since their worker started."""
        return sum(e.acked for e in self.stage.nimbus.topology(name).executors if e.is_spout)

    def says(self, topology: str, words: str) -> int:
        return sum(words in line for line in self.log(topology, "worker.log"))


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaStage]:
    folder = tmp_path_factory.mktemp("kafka")
    jars = connector(folder / "jars")
    broker = Broker(folder / "broker")
    try:
        broker.start()
        name = f"kafka-{os.getpid()}"
        with LocalCluster.up(name, supervisors=1, slots=1, config=SLOW_BUT_SMALL) as cluster:
            yield KafkaStage(cluster, broker, jars)
    finally:
        broker.end()


def test_what_comes_by_kafka_is_what_the_logs_hold(kafka: KafkaStage, tmp_path: Path) -> None:
    name = "same"
    topology = kafka.submit(name)
    wait_until(lambda: kafka.log(topology, METRICS_LOG), 180, "the first line is logged")
    slices: list[Slice] = []
    problems: dict[str, int] = {}

    def take(found: dict[str, Slice], unused: dict[str, int]) -> None:
        slices.extend(found.values())
        problems.update(unused)

    topic = KafkaTopic(kafka.broker.address, name, connector_jars(kafka.jars), {})
    spool = tmp_path / "spool"
    spool.mkdir()
    settings = StreamSettings(every_s=1)
    with (
        spark_session("local[1]", jars=topic.jars) as spark,
        metrics_stream(spark, str(spool), settings, take, topic) as ended,
    ):
        wait_until(lambda: len(slices) > 4, 180, "it is measured")
        kafka.kill(name)
        messages = (
            spark.read.format("kafka")
            .option("kafka.bootstrap.servers", topic.servers)
            .option("subscribe", name)
            .load()
            .selectExpr("string(key)", "string(value)")
            .collect()
        )
        lines = [message.value for message in messages]
        copy = tmp_path / "workers-artifacts" / topology / "6700" / METRICS_LOG
        copy.parent.mkdir(parents=True)
        copy.write_text("".join(f"{line}\n" for line in lines))
        whole = profile_logs([tmp_path], tmp_path / "out").profiles[topology]

        def same() -> bool:
            totals = DecayedTotals(float("inf"))
            for each in tuple(slices):
                totals.add(each)
            found = totals.summary()
            return found is not None and found[0].traffic == pytest.approx(whole.traffic)

        wait_until(same, 60, "the slices say what the lines do")
        assert ended() is None
    assert not problems
    assert {message.key for message in messages} == {topology}
    logged = {_measured(line) for line in kafka.log(topology, METRICS_LOG)}
    written = {_measured(line) for line in lines}
    # What came in the last moment may have ended with the worker.
    assert written <= logged
    assert len(written) > 0.8 * len(logged)


def _measured(line: str) -> str:
    """Return a line without log4j's head."""
    found = re.search(r"\d+\t.*", line)
    assert found is not None, line
    return found[0]


def test_worker_and_controller_outlive_the_broker(kafka: KafkaStage, tmp_path: Path) -> None:
    name = "outlives"
    topology = kafka.submit(name)
    topic = {
        "servers": kafka.broker.address,
        "topic": name,
        "jars": str(kafka.jars),
        "options": {"default.api.timeout.ms": 5000, "request.timeout.ms": 3000},
    }
    with operating(kafka.stage, tmp_path, observe={"kafka": topic, "every": 2}) as process:
        wait_until(lambda: _is_published(kafka, topology), 300, "it is measured")
        workers = kafka.stage.worker_processes()
        kafka.broker.end()
        acked = kafka.acked(name)
        read_until(process, "nothing is measured now")
        wait_until(lambda: kafka.says(topology, "do not reach topic"), 120, "the worker says so")
        wait_until(lambda: kafka.acked(name) > acked, 120, "tuples are acked all the same")
        kafka.broker.start()
        read_until(process, "Spark reads")
        wait_until(lambda: kafka.says(topology, "reach topic outlives again"), 120, "they do")
        _unpublish(kafka, topology)
        wait_until(lambda: _is_published(kafka, topology), 300, "it is measured again")
    # When the broker was lost; perhaps also while the topic was made, or came back.
    assert kafka.says(topology, "do not reach topic") <= 3
    assert kafka.stage.worker_processes() == workers
    kafka.kill(name)


def _is_published(kafka: KafkaStage, topology: str) -> bool:
    cluster = kafka.stage.cluster
    with nodes_at(cluster.zookeeper_address, cluster.auth_file) as nodes:
        return topology in nodes.read_profiles()


def _unpublish(kafka: KafkaStage, topology: str) -> None:
    cluster = kafka.stage.cluster
    with nodes_at(cluster.zookeeper_address, cluster.auth_file) as nodes:
        assert nodes.delete_profile(topology)
