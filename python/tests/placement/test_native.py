import os
import signal
import time

import numpy as np
import pytest
from small_problems import microbenchmark

from stormcut.model.errors import Infeasible
from stormcut.native import process as native
from stormcut.native.process import NativeFailure, call
from stormcut.placement.graph import partition
from stormcut.placement.solve import solve


def test_results_and_errors_pass_through():
    assert call(divmod, 10.0, 7, 2) == (3, 1)
    assert call(np.cumsum, 10.0, np.ones(3)).tolist() == [1, 2, 3]
    with pytest.raises(ZeroDivisionError):
        call(divmod, 10.0, 7, 0)
    assert call(divmod, 10.0, 9, 2) == (4, 1)


def test_a_crash_is_an_error_and_the_next_call_works():
    with pytest.raises(NativeFailure, match=r"abort crashed \(SIGABRT\)"):
        call(os.abort, 10.0)
    assert call(divmod, 10.0, 7, 2) == (3, 1)


@pytest.mark.slow
def test_a_hang_is_ended():
    call(divmod, 10.0, 1, 1)
    process = native._running.process
    start = time.monotonic()
    with pytest.raises(NativeFailure, match=r"sleep gave no answer within 0\.2 s"):
        call(time.sleep, 0.2, 3600)
    assert time.monotonic() - start < 60
    assert process.poll() is not None
    assert call(divmod, 10.0, 7, 2) == (3, 1)


def test_an_orphaned_server_ends_itself():
    """The alarm's default action ends a server whose native code never returns."""
    call(divmod, 10.0, 1, 1)
    server = native._running
    seconds = 0.1 - native.GRACE_SECONDS
    server.pipe.send((time.sleep, seconds, (3600,), {}))
    assert server.process.wait(60) == -14
    assert call(divmod, 10.0, 7, 2) == (3, 1)


def test_an_algorithm_whose_partitioner_hangs_finds_none(monkeypatch):
    call(divmod, 10.0, 1, 1)
    os.kill(native._running.process.pid, signal.SIGSTOP)
    monkeypatch.setattr(partition, "SECONDS", 0.1)
    with pytest.raises(Infeasible, match=r"p-scheduler found none: .* gave no answer"):
        solve(microbenchmark("diamond", 10), "p-scheduler")
