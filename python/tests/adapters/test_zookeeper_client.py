"""A client of ZooKeeper ends in bounded time, whatever its library waits for."""

from __future__ import annotations

import subprocess
import sys

import pytest

STUCK = """
import threading
from kazoo.client import KazooClient
from stormcut.adapters.zookeeper.client import close_client

client = KazooClient("127.0.0.1:1")
client.start_async()
client.handler.callback_queue.put(threading.Event().wait)
close_client(client)
"""


@pytest.mark.slow
def test_a_program_ends_though_a_callback_does_not_return():
    """kazoo joins its callbacks' thread when the program ends, without a limit."""
    ended = subprocess.run([sys.executable, "-c", STUCK], timeout=60, capture_output=True)
    assert ended.returncode == 0
