import json
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from model_driven.dataflows import DIAMOND, FINANCE, GRID, KINDS, LINEAR, STAR, TRAFFIC, Dataflow
from model_driven.tasks import document, row
from stormcut.lab.adapters.storm.topology_project import check_options, load
from stormcut.model.errors import InvalidInput

EXAMPLES = Path(__file__).parents[3] / "examples" / "capacity"
DATAFLOWS = {
    "linear": LINEAR,
    "diamond": DIAMOND,
    "star": STAR,
    "finance": FINANCE,
    "traffic": TRAFFIC,
    "grid": GRID,
}


@pytest.mark.parametrize("name", DATAFLOWS)
def test_topologies_are_the_dataflows_that_capacity_is_planned_for(name: str) -> None:
    planned = json.loads((EXAMPLES / f"{name}.json").read_text())
    dataflow = DATAFLOWS[name]
    assert dict(dataflow.kinds) == planned["tasks"]
    assert set(dataflow.edges) == {(source, target) for source, target, _ in planned["edges"]}
    assert all(selectivity == 1 for _, _, selectivity in planned["edges"])


@pytest.mark.parametrize("dataflow", DATAFLOWS.values(), ids=list(DATAFLOWS))
def test_who_feeds_comes_before_whom_it_feeds(dataflow: Dataflow) -> None:
    order = list(dataflow.kinds)
    assert set(dataflow.kinds.values()) <= set(KINDS)
    assert all(order.index(sender) < order.index(receiver) for sender, receiver in dataflow.edges)


def test_a_row_has_the_paper_s_columns_and_size() -> None:
    assert len(row(1234).split(";")) == 20
    assert len(row(1234)) == pytest.approx(200, rel=0.01)


def test_documents_differ() -> None:
    assert len({document(number, 20) for number in range(64)}) == 64


def get(address: str, query: str, client: str = "a") -> int:
    request = urllib.request.Request(f"http://{address}/1?{query}", headers={"X-Client": client})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return len(answer.read())


@pytest.mark.slow
def test_an_object_has_its_size_and_takes_its_time(blobs: str) -> None:
    began = time.monotonic()
    assert get(blobs, "bytes=1000&delay_ms=100") == 1000
    assert time.monotonic() - began >= 0.1


@pytest.mark.slow
def test_each_client_has_a_limit_of_its_own(blobs: str) -> None:
    began = time.monotonic()
    with ThreadPoolExecutor(12) as pool:
        list(pool.map(lambda at: get(blobs, "bytes=1&per_second=20", "ab"[at % 2]), range(12)))
    # Six turns of a twentieth of a second each, for both at once.
    assert 5 / 20 <= time.monotonic() - began < 11 / 20


@pytest.mark.slow
@pytest.mark.parametrize("query", ["", "bytes=many", "bytes=-1", "bytes=99999999999"])
def test_a_request_that_makes_no_sense_is_refused(blobs: str, query: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match="400"):
        get(blobs, query)


def test_a_server_of_objects_that_does_not_answer_is_told_before_anything_starts() -> None:
    with pytest.raises(InvalidInput, match="no server of objects answers there"):
        check_options("model_driven_linear", {"blobs": "127.0.0.1:1"})


def test_threads_are_given_task_by_task() -> None:
    assert {key for key in load("finance").options if key.startswith("threads.")} == {
        f"threads.{task}" for task in "2345678"
    }
    with pytest.raises(InvalidInput, match=r"threads\.task"):
        check_options("one_task", {"threads.task": 0})
