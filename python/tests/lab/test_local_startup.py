"""What is shown of a daemon that does not start."""

import subprocess

import pytest

from stormcut.lab.adapters.clusters.local.layout import Layout
from stormcut.lab.adapters.clusters.local.startup import DaemonDied, check_alive

ERROR = """12:00:00.885 o.a.s.util main [ERROR] Halting process
java.lang.RuntimeException: no.such.Scheduler
\tat clojure.core$apply.invoke(core.clj:624)
"""
INFO = "12:00:00.920 o.a.s.zookeeper main-EventThread [INFO] Zookeeper state update\n"


@pytest.mark.parametrize(
    ("log", "shown"),
    [
        (ERROR + 12 * INFO, ["[ERROR] Halting process", "no.such.Scheduler"]),
        (12 * INFO, 10 * ["[INFO]"]),
    ],
)
def test_an_error_is_shown_whatever_other_threads_have_logged_since(
    tmp_path, monkeypatch, log, shown
):
    monkeypatch.setenv("STORMCUT_HOME", str(tmp_path))
    layout = Layout("one")
    file = layout.log_file("nimbus")
    file.parent.mkdir(parents=True)
    file.write_text(log)
    child = subprocess.Popen(["false"])
    child.wait()
    with pytest.raises(DaemonDied) as error:
        check_alive(layout, "nimbus", child)
    first, *lines = str(error.value).splitlines()
    assert first == f"nimbus ended with exit code 1; {file} says:"
    assert [words in line for words, line in zip(shown, lines, strict=True)] == [True] * len(shown)
