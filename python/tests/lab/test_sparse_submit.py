"""Submissions that cannot succeed; those that do are in test_taxi_cluster.py."""

import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stormcut.adapters.machine.home import topologies
from stormcut.lab.adapters.storm.sparse_submit import submit
from stormcut.model.errors import InvalidInput, StormcutError

VIRTUALENV = Path(sys.executable).parents[1]


def submit_taxi(
    work_folder: Path,
    *,
    project: Path | None = None,
    nimbus: str = "127.0.0.1:1",
    virtualenv: Path = VIRTUALENV,
    patience_s: float = 60.0,
) -> None:
    project = project or topologies()
    submit(project, "taxi", "taxi", nimbus, 2, {}, {}, virtualenv, work_folder, patience_s)


@pytest.fixture
def silent_port() -> Iterator[str]:
    """An address that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.slow
def test_without_nimbus_one_line_says_so_and_nothing_stays(tmp_path: Path) -> None:
    with pytest.raises(StormcutError, match=r"taxi was not submitted to 127.*cluster up"):
        submit_taxi(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_submission_that_hangs_is_ended(tmp_path: Path, silent_port: str) -> None:
    started = time.monotonic()
    with pytest.raises(StormcutError, match="sparse submit ends"):
        submit_taxi(tmp_path, nimbus=silent_port, patience_s=2)
    assert time.monotonic() - started < 60
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_topology_names_the_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"taxi\.py: no such topology"):
        submit_taxi(tmp_path, project=tmp_path)


def test_a_folder_without_streamparse_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not a Python environment with streamparse"):
        submit_taxi(tmp_path, virtualenv=tmp_path)


def test_missing_leiningen_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidInput, match="apt install leiningen"):
        submit_taxi(tmp_path)
