"""A real Kafka broker, from Maven's jars: one node that is its own controller."""

from __future__ import annotations

import base64
import socket
import subprocess
import uuid
from pathlib import Path

from conftest_zookeeper import free_port

from stormcut.adapters.machine.home import checkout
from stormcut.adapters.spark.session import java_home
from stormcut.application.waiting import wait_until

_JARS = Path(__file__).parents[1] / "python" / "tests" / "data" / "kafka-broker" / "pom.xml"


def connector(folder: Path) -> Path:
    """Fetch the jars by which Spark reads Kafka, as docs/kafka.md says."""
    _maven(_pom("scripts/kafka-jars"), "copy-dependencies", f"-DoutputDirectory={folder}")
    return folder


class Broker:
    """Ends, as if its machine lost power, and starts again on its data."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        port, control = free_port(), free_port()
        self.address = f"127.0.0.1:{port}"
        self._output = folder / "broker.out"
        self._settings = folder / "server.properties"
        self._settings.write_text(
            "process.roles=broker,controller\n"
            "node.id=1\n"
            f"controller.quorum.voters=1@127.0.0.1:{control}\n"
            f"listeners=PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{control}\n"
            "controller.listener.names=CONTROLLER\n"
            f"log.dirs={folder / 'data'}\n"
            "offsets.topic.replication.factor=1\n"
        )
        _maven(_JARS, "build-classpath", f"-Dmdep.outputFile={folder / 'jars'}")
        self._java = [
            str(java_home() / "bin" / "java"),
            *("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            *("-cp", (folder / "jars").read_text()),
        ]
        cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        tool = [*self._java, "kafka.tools.StorageTool", "format", "--cluster-id", cluster]
        subprocess.run([*tool, "--config", self._settings], check=True, capture_output=True)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(
                [*self._java, "kafka.Kafka", str(self._settings)], stdout=output, stderr=output
            )
        wait_until(self._answers, 120, "the broker listens")

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._output.read_text()
        host, _, port = self.address.partition(":")
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            return False
        return True

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _pom(folder: str) -> Path:
    root = checkout()
    assert root is not None
    return root / folder / "pom.xml"


def _maven(pom: Path, goal: str, option: str) -> None:
    command = ["mvn", "-B", "-q", "-f", pom, f"dependency:{goal}", option]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
