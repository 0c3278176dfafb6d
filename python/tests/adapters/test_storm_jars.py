"""Storm is fetched by `scripts/setup`; here is what happens when that cannot be."""

from pathlib import Path

import pytest

from stormcut.adapters.machine import home, storm_jars
from stormcut.model.errors import InvalidInput


def test_without_maven_it_says_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORMCUT_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidInput, match="install Maven, or set STORMCUT_STORM_LIB"):
        storm_jars.ensure(print)
    assert not list(tmp_path.iterdir())


def test_a_storm_of_ones_own_is_used_and_nothing_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lib = tmp_path / "storm" / "lib"
    lib.mkdir(parents=True)
    monkeypatch.setenv("STORMCUT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("STORMCUT_STORM_LIB", str(lib))
    with pytest.raises(InvalidInput, match="holds no storm-core jar: name the lib folder"):
        home.storm_lib()
    (lib / "storm-core-1.2.4.jar").touch()
    storm_jars.ensure(print)
    assert home.storm_lib() == lib
    assert not (tmp_path / "home").exists()


def test_a_damaged_or_missing_jar_is_named(tmp_path: Path) -> None:
    released = home.storm_lib()
    assert storm_jars.mismatch(released) is None
    for jar in released.iterdir():
        (tmp_path / jar.name).symlink_to(jar)
    core = tmp_path / "storm-core-1.2.4.jar"
    core.unlink()
    assert storm_jars.mismatch(tmp_path) == f"{core} is missing"
    core.write_bytes(b"half of it")
    assert storm_jars.mismatch(tmp_path) == f"{core} is damaged"
