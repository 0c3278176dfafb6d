"""A real ZooKeeper: the one inside Storm's jar, one for all tests of a session."""

import shutil
import socket
import subprocess
import time
from contextlib import contextmanager

import pytest
from kazoo.exceptions import NotEmptyError

from stormcut.adapters.machine.home import storm_java, storm_lib

LOG4J = """<Configuration><Appenders><Console name="out" target="SYSTEM_ERR"/></Appenders>
<Loggers><Root level="warn"><AppenderRef ref="out"/></Root></Loggers></Configuration>"""


#: On a busy machine a process may wait a minute for what takes a second.
PATIENCE_S = 180.0


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def await_true(condition, seconds=PATIENCE_S):
    """Wait until a condition holds, and return how long it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, "waited in vain"
        time.sleep(0.02)
    return time.monotonic() - began


def _answers(port):
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(b"ruok")
            return connection.recv(4) == b"imok"
    except OSError:
        return False


def is_deleted(nodes):
    """Try to delete all nodes; false if a brain has put some back meanwhile."""
    try:
        nodes.client.delete(nodes.root, recursive=True)
    except NotEmptyError:
        return False
    return True


def is_replaced(client, path, data, acl):
    """Try to put another's node in the place of one; false if a brain writes there meanwhile."""
    transaction = client.transaction()
    for part in client.get_children(path):
        transaction.delete(f"{path}/{part}")
    transaction.delete(path)
    transaction.create(path, data, acl=acl)
    return not any(isinstance(result, Exception) for result in transaction.commit())


class ZooKeeperProcess:
    """Ends and starts again on its data, which Storm's dev_zookeeper would delete."""

    def __init__(self, folder):
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "log4j2.xml").write_text(LOG4J)
        (folder / "zoo.cfg").write_text(
            f"dataDir={folder / 'data'}\ntickTime=2000\n"
            f"clientPort={self.port}\nclientPortAddress=127.0.0.1\n"
        )
        self._process = None

    def start(self):
        folder = self._folder
        command = [
            storm_java() / "bin" / "java",
            "-Xmx128m",
            "-Dzookeeper.jmx.log4j.disable=true",
            f"-Dlog4j.configurationFile={folder / 'log4j2.xml'}",
            "-cp",
            f"{storm_lib()}/*",
            "org.apache.storm.shade.org.apache.zookeeper.server.ZooKeeperServerMain",
            str(folder / "zoo.cfg"),
        ]
        with (folder / "zookeeper.out").open("ab") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output)
        await_true(lambda: _answers(self.port) or self._process.poll() is not None)
        assert self._process.poll() is None, (folder / "zookeeper.out").read_text()

    def forget(self):
        """Delete all data; only while it does not run."""
        shutil.rmtree(self._folder / "data")

    def end(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@contextmanager
def running_zookeeper(folder):
    server = ZooKeeperProcess(folder)
    try:
        server.start()
        yield server
    finally:
        server.end()


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory):
    """The address of a running ZooKeeper."""
    with running_zookeeper(tmp_path_factory.mktemp("zookeeper")) as server:
        yield server.address


@pytest.fixture
def auth_file(tmp_path):
    path = tmp_path / "auth"
    path.touch(mode=0o600)
    path.write_text("stormcut:correct horse battery staple\n")
    return path
