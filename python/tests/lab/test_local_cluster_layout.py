import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stormcut.lab.adapters.clusters.local.layout import Daemon, Layout, LocalState
from stormcut.model.errors import InvalidInput

daemons = st.builds(
    Daemon,
    name=st.text(min_size=1),
    host=st.ip_addresses(v=4).map(str),
    ports=st.lists(st.integers(1, 65535)).map(tuple),
    pid=st.none() | st.integers(1, 2**22),
    started=st.none() | st.floats(0, 2e9),
)
states = st.builds(
    LocalState, daemons=st.lists(daemons, min_size=3).map(tuple), ready=st.booleans()
)
one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setenv("STORMCUT_HOME", str(tmp_path))
    layout = Layout("x")
    layout.folder.mkdir(parents=True)
    return layout


@one_folder
@given(state=states)
def test_a_state_is_read_as_it_was_written(layout: Layout, state: LocalState) -> None:
    layout.write_state(state)
    assert layout.read_state() == state


@one_folder
@given(state=states, data=st.data())
def test_half_a_state_is_no_state(layout: Layout, state: LocalState, data: st.DataObject) -> None:
    layout.write_state(state)
    whole = layout.state_file.read_bytes()
    layout.state_file.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    assert layout.read_state() is None


@pytest.mark.parametrize("text", ["", "[]", "null", '{"version": 99}', '{"version": 1}'])
def test_a_foreign_state_is_no_state(layout: Layout, text: str) -> None:
    layout.state_file.write_text(text)
    assert layout.read_state() is None


def test_no_state_at_all(layout: Layout) -> None:
    assert layout.read_state() is None


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "-x", "a b", "x" * 65])
def test_a_name_must_be_safe_as_a_folder(name: str) -> None:
    with pytest.raises(InvalidInput, match="letters, digits"):
        Layout(name)


def test_the_secret_is_for_its_owner_alone(layout: Layout) -> None:
    layout.remove()
    layout.create()
    assert stat.S_IMODE(layout.auth_file.stat().st_mode) == 0o600
    user, _, password = layout.auth_file.read_text().strip().partition(":")
    assert user == "stormcut" and len(password) == 32


def test_removing_leaves_the_parent_clean(layout: Layout) -> None:
    (layout.folder / "deep" / "er").mkdir(parents=True)
    layout.remove()
    layout.remove()
    assert list(layout.clusters.iterdir()) == []


def test_kept_logs_survive_the_removal(layout: Layout) -> None:
    layout.logs("nimbus").mkdir(parents=True)
    layout.log_file("nimbus").write_text("a line\n")
    kept = layout.keep_logs()
    layout.remove()
    assert (kept / "nimbus" / "nimbus.log").read_text() == "a line\n"
