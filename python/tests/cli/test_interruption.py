"""What a termination signal does to what is under way."""

import contextlib
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from stormcut.cli.interruption import TERMINATING, interruptible, uninterrupted


@pytest.fixture(autouse=True)
def _signals_as_before():
    """An interrupted process ignores all signals until its end: this one lives on."""
    previous = {number: signal.getsignal(number) for number in TERMINATING}
    yield
    for number, handler in previous.items():
        signal.signal(number, handler)


def test_an_interrupt_that_became_another_error_is_one_again():
    with pytest.raises(KeyboardInterrupt), interruptible():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except KeyboardInterrupt:
            raise ValueError from None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupt_that_was_lost_is_raised_at_the_end(number):
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    undone, lost = [], contextlib.suppress(KeyboardInterrupt)
    try:
        with pytest.raises(KeyboardInterrupt), interruptible(lambda: undone.append(1)), lost:
            os.kill(os.getpid(), number)
    finally:
        signal.signal(signal.SIGINT, previous)
    assert undone == [1]


def test_a_second_signal_at_once_does_not_cut_a_clean_up_short():
    cleaned = []
    with pytest.raises(KeyboardInterrupt), interruptible():
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os.kill(os.getpid(), signal.SIGTERM)
            cleaned.append(1)
    assert cleaned == [1]


def test_who_goes_on_asking_interrupts_again(monkeypatch):
    monkeypatch.setattr("stormcut.cli.interruption.IMPATIENT_S", 0.1)
    with pytest.raises(KeyboardInterrupt), interruptible():
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            for _ in range(100):
                time.sleep(0.02)
                os.kill(os.getpid(), signal.SIGTERM)


IMPATIENT = """
import time
from stormcut.cli import main
from stormcut.cli.interruption import interruptible
def work(**_):
    with interruptible():
        print("works", flush=True)
        time.sleep(60)
main.cli.main = work
main.main()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_until_the_last_moment_leave_the_exit_code(number):
    """Python gives signals back to the system as it ends: one killed what had cleaned up."""
    command = ["env", "--default-signal=INT", sys.executable, "-c", IMPATIENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout.readline() == b"works\n"
        while process.poll() is None:
            process.send_signal(number)
    assert process.returncode == 130


def test_what_is_ignored_stays_ignored():
    """As under nohup, which is to outlive the terminal."""
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interruptible():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, previous)


def test_errors_stay_what_they_are():
    with pytest.raises(ValueError), interruptible():
        raise ValueError
    with interruptible():
        assert uninterrupted(lambda check: 1) == 1
    with pytest.raises(ValueError), interruptible():
        uninterrupted(lambda check: int("x"))


WORK = """
import os, signal, subprocess, sys
from stormcut.cli.interruption import interruptible, uninterrupted
def work(check):
    if "at once" in sys.argv:  # while the work is being started, or just after
        os.kill(os.getpid(), signal.SIGTERM)
    child = subprocess.Popen(["sleep", "1000"])
    print(child.pid, flush=True)
    child.wait()
    print("cleaned up", flush=True)
with interruptible():
    uninterrupted(work)
"""


@pytest.mark.parametrize("moment", ["at once", "later"])
def test_what_the_work_has_started_ends_and_the_work_cleans_up(moment):
    with subprocess.Popen(
        [sys.executable, "-c", WORK, moment],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        child = int(process.stdout.readline())
        try:
            if moment == "later":
                process.terminate()
            out, errors = process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            os.kill(child, signal.SIGKILL)
            raise
    assert out == "cleaned up\n" and errors.endswith("KeyboardInterrupt\n")
    assert not psutil.pid_exists(child)


STOPPED = """
import os, signal, threading, time
from stormcut.cli.interruption import stop_signals

stopped = stop_signals()
assert not stopped(0.01)

def order():
    for _ in range(20_000):
        os.kill(os.getpid(), signal.SIGTERM)

thread = threading.Thread(target=order, daemon=True)
thread.start()
while thread.is_alive():
    # As often as can be: whatever the handler needs is held by the main thread now and then.
    stopped(0)
assert stopped(0)
print("stopped")
"""


def test_no_moment_is_wrong_for_an_order_to_stop():
    """An Event set in the handler blocked the brain for ever, once in many runs."""
    done = subprocess.run(
        [sys.executable, "-c", STOPPED], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("stopped\n", "")
