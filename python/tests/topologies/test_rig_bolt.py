import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rig.bolt import CountedBolt
from rig.store import Store, StoreDown, address


class Echo(CountedBolt):
    outputs = ("text",)

    def handle(self, text: str) -> None:
        if text == "bad":
            self.drop("malformed", text)
            return
        if text == "store":
            raise StoreDown("Redis at a:1 does not answer")
        self.emit([text])

    def answer(self) -> str:
        return "whole"


def test_every_tuple_is_emitted_dropped_or_failed_and_counted(
    bench: Callable[..., Any], tmp_path: Path
) -> None:
    bolt = bench(Echo, results=str(tmp_path))
    assert bolt.give("a") == [["a"]]
    assert bolt.give("bad") == []
    assert bolt.give("store") == []
    assert (bolt.acked, bolt.failed) == (["1", "2"], ["3"])
    bolt.tick()
    assert json.loads((tmp_path / f"own-2-{os.getpid()}.json").read_text()) == {
        "component": "own",
        "task": 2,
        "process": os.getpid(),
        "received": {"before": 3},
        "emitted": {"default": 1},
        "failed": 1,
        "dropped": {"malformed": 1},
        "waiting": False,
        "answer": "whole",
    }


def test_a_report_says_whether_the_store_took_everything(
    bench: Callable[..., Any], tmp_path: Path
) -> None:
    class Writer(Echo):
        down = True

        def tick(self) -> None:
            if self.down:
                raise StoreDown("Redis at a:1 does not answer")

    bolt = bench(Writer, results=str(tmp_path))
    file = tmp_path / f"own-2-{os.getpid()}.json"
    bolt.tick()
    assert json.loads(file.read_text())["waiting"]
    Writer.down = False
    bolt.tick()
    assert not json.loads(file.read_text())["waiting"]


def test_every_tuple_carries_the_padding(bench: Callable[..., Any]) -> None:
    assert Echo.outputs == ["text", "padding"]
    bolt = bench(Echo, payload=3)
    sent: list[Any] = []
    bolt.component.serializer.send_message = sent.append
    bolt.give("a")
    assert sent[0]["tuple"] == ["a", "xxx"]


def test_the_load_takes_cpu_time_and_writes(bench: Callable[..., Any]) -> None:
    bolt = bench(Echo, cpu_ms=20.0, io_bytes=100)
    before = time.thread_time()
    bolt.give("a")
    assert time.thread_time() - before >= 0.02
    assert bolt.component._load._file.tell() == 100


def test_a_store_that_is_down_says_so_in_one_line() -> None:
    message = r"^Redis at 127\.0\.0\.1:1 does not answer: .*refused"
    with pytest.raises(StoreDown, match=message), Store("127.0.0.1:1").client() as client:
        client.ping()


def test_a_store_wants_its_password(redis: str) -> None:
    with Store(redis).client() as client:
        assert client.ping()
    without = redis.partition("@")[2]
    with pytest.raises(StoreDown, match="AUTH"), Store(without).client() as client:
        client.ping()


@pytest.mark.parametrize("text", ["host", ":1", "host:", "host:x"])
def test_addresses_that_cannot_be(text: str) -> None:
    with pytest.raises(ValueError, match="must be host:port"):
        address(text)
