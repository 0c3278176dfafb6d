"""Every topology on a real Storm cluster: nothing lost, and the answer is Spark's."""

import os
import signal
import threading
from typing import Any

import pytest
from redis import TimeoutError

from ads.components import VIEWS_TABLE
from rig.store import Store
from stormcut.application.waiting import wait_until
from stormcut.cli.steps import Steps
from stormcut.lab.adapters.clusters.local import LocalCluster
from stormcut.lab.adapters.clusters.redis_server import redis_server
from stormcut.lab.adapters.spark.answers import ANSWERS
from stormcut.lab.adapters.storm import topology_project
from stormcut.lab.adapters.storm.topology_project import names
from stormcut.lab.adapters.storm.topology_site import local_site
from stormcut.lab.experiment import topology_run
from stormcut.lab.experiment.outcome import RunOutcome
from stormcut.lab.experiment.ports import Catalogue

pytestmark = pytest.mark.cluster

STEPS = Steps("test")
CATALOGUE = Catalogue(topology_project, ANSWERS)
#: Longer than a call to Redis may take.
PAUSE_MS = 8000
#: Of about 6,700; the rest is counted within seconds.
MAX_VIEWS = 4000
UNTIL_THE_END_MS = 20_000


@pytest.fixture(autouse=True)
def session(spark: object) -> object:
    """All answers are computed in the session that there is."""
    return spark


def run(cluster: LocalCluster, name: str, **given: str) -> RunOutcome:
    settings = topology_run.RunSettings(name, {})
    # Not through the settings, which refuse a Redis that is down.
    options = {**topology_run.options_of(settings, CATALOGUE), **given}
    return topology_run.run(local_site(cluster), settings, options, CATALOGUE, STEPS)


# The usual run has one in Java, the taxi rides, and one with Redis in containers.
@pytest.mark.full
@pytest.mark.parametrize("name", sorted({*names()} - {"yahoo"}))
def test_a_topology_loses_nothing_and_gives_the_right_answer(
    storm: LocalCluster, name: str
) -> None:
    outcome = run(storm, name)
    assert outcome.holds, outcome.answer
    assert outcome.totals.sent >= 5000
    # On a busy machine tuples may be replayed, and then counted twice.
    if name in ANSWERS and not outcome.totals.replayed:
        assert outcome.answer.startswith("equals Spark's")


def test_the_same_in_java(storm: LocalCluster) -> None:
    outcome = run(storm, "diamond", language="java", grouping="fields")
    assert outcome.whole
    assert [hop.received for hop in outcome.passages] == [10_000] * 6


@pytest.mark.full
def test_all_five_tasks_do_in_java_what_spark_computes(storm: LocalCluster) -> None:
    outcome = run(storm, "model_driven_linear", language="java")
    assert outcome.whole
    assert outcome.answer.startswith("equals Spark's")


@pytest.mark.full
def test_nothing_is_lost_while_redis_is_down(storm: LocalCluster) -> None:
    """Redis is down at the start and in the middle, and no writes get in at the end."""
    with redis_server() as address, Store(address).client() as client:
        server = client.info("server")["process_id"]
        os.kill(server, signal.SIGSTOP)

        def trouble() -> None:
            try:
                wait_until(lambda: is_missed(storm, address), 400, "a component misses Redis")
            finally:
                os.kill(server, signal.SIGCONT)
            wait_until(lambda: counted(client), 400, "views are counted")
            client.execute_command("CLIENT PAUSE", PAUSE_MS)
            wait_until(lambda: counted(client) >= MAX_VIEWS, 400, "most views are counted")
            client.execute_command("CLIENT PAUSE", UNTIL_THE_END_MS, "WRITE")

        troubling = threading.Thread(target=trouble)
        troubling.start()
        outcome = run(storm, "yahoo", redis=address)
        troubling.join()
    assert outcome.whole
    assert outcome.totals.sent == outcome.totals.acked == 20_000
    assert outcome.answer.startswith("equals Spark's")


def counted(client: Any) -> int:
    """Return the views in Redis; one that is paused answers when it goes on."""
    try:
        return sum(int(count) for count in client.hvals(VIEWS_TABLE))
    except TimeoutError:
        return 0


def is_missed(cluster: LocalCluster, address: str) -> bool:
    """Return whether a component's log says that Redis does not answer, without its password."""
    line = f"Redis at {address.partition('@')[2]} does not answer: "
    return any(line in log.read_text() for log in cluster.log_files().values())
