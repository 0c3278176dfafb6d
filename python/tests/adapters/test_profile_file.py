"""A profile survives the file; anything else in a file is refused with its path."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormcut.adapters.files.profile_file import (
    format_profile,
    parse_profile,
    read_profile,
    write_profile,
)
from stormcut.model.errors import InvalidInput
from stormcut.model.profile import ExecutorLoad, Profile, TaskTraffic, WorkerLoad

numbers = st.floats(0, 1e12, allow_nan=False)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)

DOCUMENT: dict[str, Any] = {
    "format": "stormcut-profile/1",
    "topology": "taxi-1-1700000000",
    "from_epoch_s": 1_700_000_010,
    "to_epoch_s": 1_700_000_070,
    "executors": [
        {"component": "a", "start_task": 1, "end_task": 2, "cpu_percent": 2.5, "memory_mb": None},
        {"component": "b", "start_task": 3, "end_task": 3, "cpu_percent": 9, "memory_mb": 30.0},
    ],
    "traffic": [[1, 3, 120.0, 40.0], [2, 3, 0.5, None]],
}


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    bounds = draw(st.lists(st.integers(0, 10**6), unique=True, max_size=12).map(sorted))
    ranges = zip(bounds[::2], bounds[1::2], strict=False)
    executors = []
    for first, last in ranges:
        cpu, memory = draw(numbers), draw(st.none() | numbers)
        busiest = draw(st.none() | st.floats(0, cpu))
        executors.append(ExecutorLoad(draw(names), first, last, cpu, memory, busiest))
    tasks = st.integers(0, 50)
    pairs = draw(st.lists(st.tuples(tasks, tasks), unique=True, max_size=8))
    traffic = [TaskTraffic(*pair, draw(numbers), draw(st.none() | numbers)) for pair in pairs]
    places = draw(st.lists(st.tuples(names, st.integers(0, 65535)), unique=True, max_size=3))
    machines = st.sampled_from(["", "0f-1a"])
    workers = [
        WorkerLoad(*place, draw(machines), *(draw(numbers) for _ in range(5))) for place in places
    ]
    begin = draw(st.integers(0, 2**33))
    end = begin + draw(st.integers(1, 10**6))
    return Profile(draw(names), begin, end, tuple(executors), tuple(traffic), tuple(workers))


@given(profiles())
def test_what_is_written_is_read(profile: Profile) -> None:
    assert parse_profile(format_profile(profile), "here") == profile


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "profile.json"
    path.write_text("old")
    profile = parse_profile(json.dumps(DOCUMENT), "here")
    write_profile(path, profile)
    assert read_profile(path) == profile
    assert json.loads(path.read_text()) == DOCUMENT
    assert list(tmp_path.iterdir()) == [path]


def places(value: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    """Return (path, container, key) of every value in a document."""
    if isinstance(value, dict):
        inner = [(f"{path}.{key}".lstrip("."), value, key) for key in value]
    elif isinstance(value, list):
        inner = [(f"{path}[{index}]", value, index) for index in range(len(value))]
    else:
        return []
    return inner + [place for at, _, key in inner for place in places(value[key], at)]


@given(st.data())
def test_any_value_of_a_wrong_kind_is_named_by_its_path(data: st.DataObject) -> None:
    document = copy.deepcopy(DOCUMENT)
    path, container, key = data.draw(st.sampled_from(places(document)))
    container[key] = data.draw(st.sampled_from([True, -1, float("nan"), 10**400]))
    with pytest.raises(InvalidInput) as caught:
        parse_profile(json.dumps(document), "file.json")
    assert caught.value.where == f"file.json: {path}"


@given(st.data())
def test_missing_and_unknown_keys_are_named_by_their_path(data: st.DataObject) -> None:
    document = copy.deepcopy(DOCUMENT)
    keyed = [place for place in places(document) if isinstance(place[1], dict)]
    path, container, key = data.draw(st.sampled_from(keyed))
    if data.draw(st.booleans()):
        del container[key]
        expected = path
    else:
        container["colour"] = 1
        expected = path.removesuffix(key) + "colour"
    with pytest.raises(InvalidInput) as caught:
        parse_profile(json.dumps(document), "file.json")
    assert caught.value.where == f"file.json: {expected}"


@pytest.mark.parametrize(
    ("change", "where", "what"),
    [
        ({"to_epoch_s": 1_700_000_010}, "to_epoch_s", "after from_epoch_s"),
        ({"format": "stormcut-profile/2"}, "format", "stormcut-profile/1"),
        (
            {"executors": [*DOCUMENT["executors"], DOCUMENT["executors"][0]]},
            "executors[2]",
            "task 1",
        ),
        ({"traffic": [[1, 3, 1.0, None]] * 2}, "traffic[1]", "same pair"),
        ({"traffic": [[1, 3, 1.0]]}, "traffic[0]", "tuples/s"),
        (
            {"executors": [{**DOCUMENT["executors"][0], "end_task": 0}]},
            "executors[0].end_task",
            "1",
        ),
    ],
)
def test_values_that_contradict_each_other(change: dict[str, Any], where: str, what: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_profile(json.dumps(DOCUMENT | change), "file.json")
    assert caught.value.where == f"file.json: {where}"
    assert what in caught.value.what


def test_files_that_are_no_profile(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_profile(tmp_path / "none.json")
    with pytest.raises(InvalidInput, match="is not JSON"):
        parse_profile("{", "x")
    with pytest.raises(InvalidInput, match="must be an object"):
        parse_profile("[]", "x")
