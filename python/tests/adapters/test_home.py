import shutil
import sys
from pathlib import Path

import pytest

from stormcut.adapters.machine import home, java
from stormcut.model.errors import InvalidInput


@pytest.fixture
def empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STORMCUT_HOME", str(tmp_path))
    return tmp_path


def test_home_is_the_checkout_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("STORMCUT_HOME", raising=False)
    assert home.home() == Path(__file__).resolve().parents[3] / ".stormcut"
    monkeypatch.setenv("STORMCUT_HOME", str(tmp_path))
    assert home.home() == tmp_path


def test_missing_storm_names_the_setup_script(empty_home: Path) -> None:
    with pytest.raises(InvalidInput, match="scripts/setup"):
        home.storm_lib()


def test_plugin_jars_must_be_unambiguous(empty_home: Path) -> None:
    folder = empty_home / "plugin"
    folder.mkdir()
    (folder / "stormcut-hook-1.jar").touch()
    with pytest.raises(
        InvalidInput, match=r"stormcut-scheduler-\*\.jar, found none.*scripts/setup"
    ):
        home.plugin_jars()
    (folder / "stormcut-scheduler-1.jar").touch()
    assert home.plugin_jars().scheduler == folder / "stormcut-scheduler-1.jar"
    (folder / "stormcut-scheduler-2.jar").touch()
    with pytest.raises(InvalidInput, match=r"stormcut-scheduler-1\.jar, stormcut-scheduler-2\.jar"):
        home.plugin_jars()


def test_storm_java_is_one_that_storm_runs_on() -> None:
    assert java.release(home.storm_java()) in home.STORM_JAVA_VERSIONS


def test_a_chosen_java_that_storm_cannot_run_on_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORMCUT_STORM_JAVA", str(tmp_path))
    with pytest.raises(InvalidInput, match="not the home of a Java 8 or 11"):
        home.storm_java()


def test_a_chosen_java_too_new_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    default = shutil.which("java")
    java_home = Path(default).resolve().parents[1] if default else Path(sys.prefix)
    if java.release(java_home) in (None, *home.STORM_JAVA_VERSIONS):
        pytest.skip("the default Java is none that Storm cannot run on")
    monkeypatch.setenv("STORMCUT_STORM_JAVA", str(java_home))
    with pytest.raises(InvalidInput, match="STORMCUT_STORM_JAVA"):
        home.storm_java()
