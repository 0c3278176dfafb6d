"""A local Spark session that is quiet, listens on loopback only, and leaves nothing behind."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import psutil
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from stormcut.adapters.machine import java
from stormcut.adapters.machine.home import home
from stormcut.adapters.machine.sole_use import MARK, taken
from stormcut.model.errors import InvalidInput

MIN_JAVA = 17
#: In stormcut's home; written by `class_archive`.
CLASS_ARCHIVE = "spark-classes.jsa"
_STOP_SECONDS = 20
_RECORD_SECONDS = 600
#: Of the JVM that does everything: what does not fit is kept in files.
_HEAP = "1g"

#: The JVM plans and shuffles: the second compiler costs it as much CPU as it saves.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"

_PANDAS = "PySpark does not yet fully support pandas"

_LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d %p %c: %m%n%ex
"""


#: Scratch folders of sessions, in the folder for temporary files.
_FOLDERS = "stormcut-spark-"


@contextmanager
def spark_session(
    master: str = "local[*]",
    record: Path | None = None,
    jars: Sequence[Path] = (),
) -> Iterator[SparkSession]:
    """Yield a Spark session; one that is already running is shared and left running.

    The JVM's own output goes to a temporary file, shown only if Spark does not start. Warehouse,
    scratch files and log are in one temporary folder, removed at the end together with the JVM.

    Parameters
    ----------
    master : str
        Spark's master; ignored when a running session is shared.
    record : Path, optional
        Where to write the classes that were loaded, at the end; takes long.
    jars : sequence of Path
        Besides Spark's own; likewise ignored.

    Raises
    ------
    InvalidInput
        No Java 17 or later is installed, or Spark does not start with this master.
    """
    if (running := _running()) is not None:
        yield running
        return
    # py4j tells of every call from Java, and of each error that it raises, in part as the root.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_not_py4js)
    _remove_orphans()
    folder = Path(tempfile.mkdtemp(prefix=_FOLDERS))
    mark = taken(folder / MARK)
    before = set(os.environ)
    if master.startswith("local"):
        # Else workers are whatever python3 is on the PATH, with or without this package.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        with (folder / "spark.log").open("w+b") as log, warnings.catch_warnings():
            # No pandas is used here; pyspark looks at it all the same.
            warnings.filterwarnings("ignore", _PANDAS, FutureWarning)
            conf = _conf(folder, master, _java_options(record), jars)
            gateway = _launch(folder, log, conf)
            try:
                yield _start(gateway, log, conf)
            finally:
                _stop(gateway, _RECORD_SECONDS if record else _STOP_SECONDS)
    finally:
        for added in set(os.environ) - before:  # by pyspark, of a JVM that has ended
            del os.environ[added]
        shutil.rmtree(folder, ignore_errors=True)
        if mark is not None:
            mark.close()


def _remove_orphans() -> None:
    """Remove the folders of sessions whose process was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDERS}*"):
        # Without a mark it is being made.
        with suppress(OSError):
            if (folder / MARK).exists() and (mark := taken(folder / MARK)) is not None:
                shutil.rmtree(folder, ignore_errors=True)
                mark.close()


def kill(spark: SparkSession) -> None:
    """End a session's JVM without asking it: whoever waits for its answer gets an error."""
    process = spark.sparkContext._gateway.proc  # type: ignore[union-attr]
    process.kill()
    process.wait()


def _is_not_py4js(record: logging.LogRecord) -> bool:
    return record.module != "java_gateway"


def _running() -> SparkSession | None:
    """Return the session of this process, whatever thread has started it."""
    with suppress(PySparkRuntimeError):
        return SparkSession.active()
    return None


def _launch(folder: Path, log: IO[bytes], conf: SparkConf) -> Any:
    environment = {
        "JAVA_HOME": str(java_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        # A worker or daemon environment must not leak its own Spark settings into this one.
        "PYSPARK_SUBMIT_ARGS": "pyspark-shell",
        # For the JVM that only finds out how to start the other.
        "SPARK_LAUNCHER_OPTS": _JAVA_OPTIONS,
    }
    before = {child.pid for child in psutil.Process().children()}
    with _environment(environment):
        try:
            with _interrupt_later():
                return launch_gateway(  # type: ignore[no-untyped-call]
                    conf, {"stdout": log, "stderr": log}
                )
        except PySparkRuntimeError as error:
            raise _does_not_start(log, conf) from error
        except BaseException:
            # Interrupted: pyspark has not told yet which process it started, and that one, perhaps
            # not even a Java yet, does not always end by itself.
            _end_children(before)
            raise


@contextmanager
def _interrupt_later() -> Iterator[None]:
    """Keep a Ctrl-C for the end of the block: Python loses one that comes while it forks."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    previous = signal.signal(signal.SIGINT, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if came:
            raise KeyboardInterrupt


def _end_children(kept: set[int]) -> None:
    """End this process's children and theirs, but for those with a kept process id."""
    started = [child for child in psutil.Process().children() if child.pid not in kept]
    for child in started:
        with suppress(psutil.NoSuchProcess):
            for process in (child, *child.children(recursive=True)):
                process.kill()
    psutil.wait_procs(started)


def _start(gateway: Any, log: IO[bytes], conf: SparkConf) -> SparkSession:
    try:
        return SparkSession(SparkContext(conf=conf, gateway=gateway))
    except Exception as error:
        raise _does_not_start(log, conf) from error


def _does_not_start(log: IO[bytes], conf: SparkConf) -> InvalidInput:
    log.seek(0)
    lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
    first = next((line.strip() for line in lines if "ERROR" in line or "Exception" in line), "")
    reason = first or (lines[-1].strip() if lines else "it printed nothing")
    return InvalidInput(
        f"Spark does not start with this master: {reason}", f"--master {conf.get('spark.master')}"
    )


def _stop(gateway: Any, patience_s: float) -> None:
    """End the session and its JVM; pyspark alone would keep the JVM until Python ends."""
    process: subprocess.Popen[bytes] = gateway.proc
    try:
        # There is nobody to tell where the JVM has died.
        if process.poll() is None:
            if (session := _running()) is not None:
                session.stop()
            elif SparkContext._active_spark_context is not None:
                SparkContext._active_spark_context.stop()
    finally:
        gateway.shutdown()
        # pyspark would take what is left of a JVM that has died for a session that runs.
        SparkContext._gateway = None
        SparkContext._jvm = None
        SparkContext._active_spark_context = None
        SparkSession._instantiatedSession = None
        if process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _java_options(record: Path | None) -> str:
    archive = home() / CLASS_ARCHIVE
    options = _JAVA_OPTIONS
    if record is not None:
        return f'{options} "-XX:ArchiveClassesAtExit={record}"'
    return f'{options} "-XX:SharedArchiveFile={archive}"' if archive.is_file() else options


def _conf(folder: Path, master: str, java_options: str, jars: Sequence[Path]) -> SparkConf:
    log4j = folder / "log4j2.properties"
    log4j.write_text(_LOG4J, encoding="utf-8")
    settings = {
        "spark.master": master,
        "spark.app.name": "stormcut",
        "spark.driver.memory": _HEAP,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={log4j.as_uri()} -Djava.io.tmpdir={folder} {java_options}"
        ),
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        # Measured on two cores: adaptive execution doubles the CPU time of a small run.
        "spark.sql.adaptive.enabled": "false",
        # One partition needs no shuffle and no broadcast, and interpreted queries no compiler.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        # Where in Python each column was made: it takes a stack trace for each of thousands.
        "spark.sql.dataFrameQueryContext.enabled": "false",
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        # For pages that nobody sees: of a thousand queries each, by default.
        "spark.ui.retainedJobs": "10",
        "spark.ui.retainedStages": "10",
        "spark.sql.ui.retainedExecutions": "10",
        "spark.ui.showConsoleProgress": "false",
    }
    if jars:
        settings["spark.jars"] = ",".join(jar.absolute().as_uri() for jar in jars)
    return SparkConf(loadDefaults=False).setAll(list(settings.items()))


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def java_home() -> Path:
    """Return the home of a Java that Spark can run on.

    The Java of JAVA_HOME is taken if it is recent enough, else the one on the PATH, else the
    oldest that will do below /usr/lib/jvm: JAVA_HOME may well point to the Java 11 of Storm.

    Raises
    ------
    InvalidInput
        There is none; names those that were looked at.
    """
    seen = []
    for jvm in java.installed():
        release = java.release(jvm)
        if release is not None and release >= MIN_JAVA:
            return jvm
        if release is not None:
            seen.append(f"{jvm} is Java {release}")
    versions = "; ".join(seen) or "no Java found"
    raise InvalidInput(
        f"Spark needs Java {MIN_JAVA} or later ({versions}); install one, such as Debian's "
        f"openjdk-17-jre-headless, or set JAVA_HOME to it",
        "java",
    )
