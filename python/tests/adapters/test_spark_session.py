"""Which Java Spark gets, and that a session leaves nothing behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import psutil
import pytest

from stormcut.adapters.machine import java
from stormcut.adapters.machine.sole_use import MARK, taken
from stormcut.adapters.spark import session as spark_session_module
from stormcut.adapters.spark.session import _remove_orphans, java_home, spark_session
from stormcut.model.errors import InvalidInput


def install_java(home: Path, version: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose only Javas are those below the returned folder."""
    jvms = tmp_path / "jvm"
    jvms.mkdir()
    monkeypatch.setattr(java, "JVMS", jvms)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return jvms


def test_java_home_counts_if_it_is_recent_enough(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_java(machine / "seventeen", "17.0.15")
    install_java(machine / "twenty-five", "25")
    monkeypatch.setenv("JAVA_HOME", str(machine / "twenty-five"))
    assert java_home() == machine / "twenty-five"
    storm = install_java(machine.parent / "storm", "11.0.13")
    monkeypatch.setenv("JAVA_HOME", str(storm))
    assert java_home() == machine / "seventeen"


def test_without_a_recent_java_those_found_are_named(machine: Path) -> None:
    with pytest.raises(InvalidInput, match="no Java found"):
        java_home()
    install_java(machine / "old", "1.8.0_402")
    with pytest.raises(InvalidInput, match=r"Java 17 or later .*old is Java 8\); install"):
        java_home()


@pytest.mark.spark
def test_a_session_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if spark_session_module.SparkSession.getActiveSession() is not None:
        pytest.fail("another test left its session open")
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    environment = dict(os.environ)
    with spark_session("local[1]") as outer, spark_session("local[1]") as inner:
        assert inner is outer
        assert inner.range(3).count() == 3
        started = {child.pid for child in psutil.Process().children(recursive=True)} - before
        listening = [
            connection.laddr.ip
            for pid in started
            for connection in psutil.Process(pid).net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        ]
        assert listening
        assert {ip.removeprefix("::ffff:") for ip in listening} <= {"127.0.0.1", "::1"}
        scratch = Path(outer.conf.get("spark.local.dir"))
        assert scratch.is_dir()
    assert not scratch.exists()
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before
    assert dict(os.environ) == environment
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.spark
def test_classes_come_from_the_archive_that_setup_wrote(spark: Any) -> None:
    spark.range(3).collect()
    jvm = str(spark.sparkContext._gateway.proc.pid)
    command = [java_home() / "bin" / "jcmd", jvm, "PerfCounter.print"]
    counters = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    (shared,) = re.findall(r"^java\.cls\.sharedLoadedClasses=(\d+)$", counters, re.MULTILINE)
    # Java's own archive holds some 1,300 classes, none of Spark's.
    assert int(shared) > 5_000


@pytest.mark.spark
def test_a_wrong_master_is_one_clear_line() -> None:
    with pytest.raises(InvalidInput, match="--master nonsense"), spark_session("nonsense"):
        pass


@pytest.mark.spark
def test_a_session_whose_jvm_has_died_is_followed_by_another() -> None:
    """In a process of its own: no other test may lose its session."""
    script = """
import psutil
from stormcut.adapters.machine.sole_use import MARK, taken
from stormcut.adapters.spark.session import spark_session
with spark_session("local[1]") as session:
    assert session.range(3).count() == 3
    for child in psutil.Process().children(recursive=True):
        child.kill()
        child.wait()
with spark_session("local[1]") as session:
    assert session.range(4).count() == 4
assert not psutil.Process().children(recursive=True)
print("both")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "both" in done.stdout


def test_folders_of_killed_sessions_go_and_those_of_living_ones_stay(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("killed", "living", "begun"):
        (tmp_path / f"stormcut-spark-{name}").mkdir()
    (tmp_path / "stormcut-spark-killed" / MARK).touch()
    with taken(tmp_path / "stormcut-spark-living" / MARK):
        _remove_orphans()
        left = {path.name for path in tmp_path.iterdir()}
    assert left == {"stormcut-spark-living", "stormcut-spark-begun"}
