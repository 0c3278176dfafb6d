"""Runs on a real Storm cluster, by the command that a user gives."""

import json
import subprocess
import sys
from typing import Any

import pytest

from ads.components import VIEWS_TABLE
from rig.store import Store
from stormcut.adapters.nimbus import wait_until
from stormcut.adapters.redis_server import redis_server

pytestmark = pytest.mark.cluster

#: Longer than a call to Redis may take.
PAUSE_MS = 8000


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "stormcut.cli.main", "topologies", "run", "--json"]
    return subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True)


def outcome(process: subprocess.Popen[str]) -> Any:
    try:
        output, _ = process.communicate(timeout=280)
    finally:
        process.terminate()
    return json.loads(output)


@pytest.mark.parametrize("language", ["python", "java"])
def test_a_diamond_loses_nothing(language: str) -> None:
    found = outcome(start("diamond", "-o", f"language={language}"))
    assert found["holds"]
    assert found["totals"]["sent"] == 10_000
    hops = {(hop["sender"], hop["receiver"]): hop["received"] for hop in found["passages"]}
    assert hops["source", "middle_1"] == hops["middle_1", "sink"] == 10_000


def test_nothing_is_lost_while_redis_is_down() -> None:
    with redis_server() as address, Store(address).client() as client:
        process = start("yahoo", "-o", f"redis={address}", "-o", "cpu.ms=1")
        wait_until(lambda: client.hlen(VIEWS_TABLE), 200, "views are counted")
        client.execute_command("CLIENT PAUSE", PAUSE_MS)
        found = outcome(process)
    assert found["whole"]
    assert found["totals"]["sent"] == found["totals"]["acked"] == 20_000
    assert found["totals"]["replayed"] > 0
    # what was refused had not been counted yet
    assert found["answer"].startswith("equals Spark's")
