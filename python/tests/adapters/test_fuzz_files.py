"""Whatever a file holds, it is read, or refused in one line, in little memory and time."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from brain_clusters import dealt, profile_of, supervisors, topology
from damage import damaged, little_memory, little_time, messages

from stormcut.adapters.files.config_example import example
from stormcut.adapters.files.config_file import read_config
from stormcut.adapters.files.costs_file import FORMAT, read_costs
from stormcut.adapters.files.decision_files import DecisionFiles
from stormcut.adapters.files.placement_file import read_placement
from stormcut.adapters.files.problem_file import COSTS, MAX_EXECUTORS, read_problem
from stormcut.adapters.files.profile_file import format_profile, read_profile
from stormcut.adapters.zookeeper.client import read_auth_file
from stormcut.control.decide.adviser import Settings
from stormcut.control.decide.decide import decide
from stormcut.control.decide.question import Question
from stormcut.model.cluster import ClusterState, Slot
from stormcut.model.errors import InvalidInput
from stormcut.model.network import SHIPPED

TAXI = dealt(topology("taxi-1-17", (2, 2)), [Slot("n0", 6700), Slot("n1", 6700)])
PROFILE = profile_of(TAXI)
FAST = Settings(options={"effort": "0"})


class Folder:
    """A whole file of every kind, and how each is read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        auth = self.file("auth", b"stormcut:geheim\n")
        problem, placement = self.decision()
        read = read_problem(self.file("problem", problem))
        costs = {name: getattr(SHIPPED, name) for name in COSTS}
        config = example().replace("/etc/stormcut.auth", auth.name)
        self.kinds: dict[str, tuple[bytes, Callable[[Path], object]]] = {
            "auth file": (auth.read_bytes(), read_auth_file),
            "configuration": (config.encode(), read_config),
            "costs": (json.dumps({"format": FORMAT, "costs": costs}).encode(), read_costs),
            "placement": (placement, lambda path: read_placement(path, read)),
            "problem": (problem, read_problem),
            "profile": (format_profile(PROFILE).encode(), read_profile),
        }

    def file(self, name: str, content: bytes) -> Path:
        path = self.path / name
        path.touch(mode=0o600)
        path.write_bytes(content)
        return path

    def decision(self) -> tuple[bytes, bytes]:
        """Return a recorded decision: a problem, and the answer."""
        state = ClusterState(supervisors(2, meta={"stormcut.link.mbit": "9"}), (TAXI,))
        recorder = DecisionFiles(self.path / "decisions")
        decide(
            Question(
                state,
                {TAXI.id: PROFILE},
                None,
                Settings(options={"effort": "0"}),
                recorder=recorder,
            )
        )
        problem, placement = sorted(self.path.glob("decisions/*"))
        if problem.name.endswith(".placement.json"):
            problem, placement = placement, problem
        return problem.read_bytes(), placement.read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return Folder(tmp_path_factory.mktemp("files"))


@pytest.mark.parametrize(
    "kind", ["auth file", "configuration", "costs", "placement", "problem", "profile"]
)
def test_damaged_files(folder, kind):
    whole, read = folder.kinds[kind]
    read(folder.file("whole", whole))
    chance, refused = random.Random(23), 0
    with little_memory():
        for _ in range(messages()):
            content = damaged(whole, chance)
            path = folder.file("damaged", content)
            try:
                with little_time():
                    read(path)
            except InvalidInput as error:
                refused += 1
                assert str(error).isprintable(), content
                assert "geheim" not in str(error)
    assert refused > messages() / 10


@pytest.mark.slow
def test_what_is_small_takes_little_memory_whatever_it_announces(folder):
    crowd = {"name": "a", "kind": "spout", "executors": MAX_EXECUTORS}
    whole = {"id": "t", "workers": None, "components": [crowd], "streams": [], "traffic": []}
    nodes = [{"id": "n", "ports": [1]}]
    document = {"format": "stormcut-problem/1", "nodes": nodes, "topologies": [whole]}
    announced = folder.file("announced", json.dumps(document).encode())
    bomb = folder.file("bomb", gzip.compress(bytes(256 << 20), 1))
    with little_memory(64 << 20):
        assert read_problem(announced).executor_count == MAX_EXECUTORS
        with pytest.raises(InvalidInput, match="gzip: unpack it"):
            read_problem(bomb)


@pytest.mark.parametrize(
    "change", [{"a\nb": 1}, {"topology": "\ud800"}, {"\ud800": 1}], ids=["line", "name", "key"]
)
def test_a_profile_that_no_terminal_can_show_is_refused_in_one_line(folder, change):
    document = json.loads(format_profile(PROFILE)) | change
    with pytest.raises(InvalidInput) as refusal:
        read_profile(folder.file("profile", json.dumps(document).encode()))
    assert str(refusal.value).isprintable()
