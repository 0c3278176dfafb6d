"""A bench's folder: what is added is read again, also after a kill; other benches stay out."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bench_runs import PLACED, REFUSED, RUN, measured
from brain_clusters import profile_of
from hypothesis import given
from hypothesis import strategies as st

from stormcut.application.compare import Contender
from stormcut.lab.adapters.bench.journal import FileJournal
from stormcut.lab.experiment.bench.cells import Start
from stormcut.lab.experiment.bench.contest import Host, place, reachable
from stormcut.model.cluster import RunningExecutor, RunningTopology, Subscription
from stormcut.model.errors import InvalidInput
from stormcut.model.network import Link
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Topology
from stormcut.placement.solve import solve

RUNNING = RunningTopology(
    "linear-1-1700000000",
    "linear",
    2,
    tuple(RunningExecutor(1 + at, 1 + at, "ab"[at // 3]) for at in range(6)),
    (Subscription("a", "b", "default", "shuffle"),),
)


def packed_as_zip(folder: Path) -> Path:
    return Path(shutil.make_archive(str(folder), "zip", folder))


def test_what_is_no_archive_of_a_bench_is_refused_and_named(tmp_path: Path) -> None:
    (empty := tmp_path / "empty").mkdir()
    (text := tmp_path / "text.zip").write_text("no archive")
    for path, what in (
        (packed_as_zip(empty), "holds no bench: there is no run.json"),
        (text, "is no zip archive"),
        (tmp_path / "missing.zip", "No such file"),
    ):
        with pytest.raises(InvalidInput, match=f"{path}.*{what}"):
            FileJournal(path)


def test_what_is_added_is_read_again(tmp_path: Path) -> None:
    journal = FileJournal.open(tmp_path / "a" / "run", RUN)
    journal.add_placement(PLACED)
    journal.add_placement(REFUSED)
    journal.add_start(Start("linear", "even", "it does not ack"))
    journal.add_start(Start("linear", "cut", "it does not ack"))
    journal.add_start(Start("linear", "even", ""))
    journal.add_measurement(measured())
    journal.add_measurement(measured("even", unsteady="still rising after 20 s"))
    journal.add_placement(replace(PLACED, kept=0.75))
    again, packed = FileJournal(journal.folder), FileJournal(packed_as_zip(journal.folder))
    for each in (journal, again, packed):
        assert each.placements() == [replace(PLACED, kept=0.75), REFUSED]
        assert each.starts() == [
            Start("linear", "even", ""),
            Start("linear", "cut", "it does not ack"),
        ]
        assert each.measurements() == [
            measured(),
            measured("even", unsteady="still rising after 20 s"),
        ]
    assert again.run == replace(RUN, options={"linear": {"rate": 0, "scale": 1.5, "steps": [1, 2]}})
    assert again.notes == ()


def test_what_was_placed_and_where_can_be_asked_again(tmp_path: Path) -> None:
    hosts = [Host("a", 1, 30.0, Link(5.0, 2.0)), Host("b", 2)]
    contender = Contender.parse("cut:objective=headroom")
    seat = place(RUNNING, profile_of(RUNNING), hosts, 1.5, contender, 1, 20)
    journal = FileJournal.open(tmp_path / "run", RUN)
    assert journal.solution("linear", "cut:objective=headroom") is None
    journal.add_solution("linear", "cut:objective=headroom", seat.problem, seat.solution)
    packed = FileJournal(packed_as_zip(journal.folder))
    found = packed.solution("linear", "cut:objective=headroom")
    assert found is not None
    problem, placement = found
    assert problem.topologies[0].max_spout_pending == 20
    assert placement.slots.tolist() == seat.solution.placement.slots.tolist()
    assert seat.reachable is not None
    assert reachable(problem, placement) == pytest.approx(seat.reachable)


def test_older_journals_know_neither_single_links_nor_throttling(tmp_path: Path) -> None:
    journal = FileJournal.open(tmp_path / "run", RUN)
    journal.add_measurement(measured())
    cells = journal.folder / "cells.jsonl"
    line = json.loads(cells.read_text())
    del line["node_sent_mbit_s"], line["node_received_mbit_s"], line["node_throttled"]
    cells.write_text(json.dumps(line) + "\n")
    (again,) = FileJournal(journal.folder).measurements()
    assert again == replace(
        measured(), node_sent_mbit_s=(), node_received_mbit_s=(), node_throttled=()
    )


@given(st.integers(1, 600))
def test_a_line_cut_off_by_a_kill_is_left_out_and_then_replaced(
    tmp_path_factory: pytest.TempPathFactory, lost: int
) -> None:
    folder = tmp_path_factory.mktemp("run")
    journal = FileJournal.open(folder, RUN)
    for repetition in (1, 2, 3):
        journal.add_measurement(measured(repetition=repetition))
    cells = folder / "cells.jsonl"
    content = cells.read_bytes()[:-lost]
    cells.write_bytes(content)
    whole = content.count(b"\n")
    again = FileJournal.open(folder, RUN)
    assert [each.cell.repetition for each in again.measurements()] == [1, 2, 3][:whole]
    cut_off = bool(content) and not content.endswith(b"\n")
    assert again.notes == ((f"{cells}, line {whole + 1}: cut off, left out",) if cut_off else ())
    for repetition in (1, 2, 3)[whole:]:
        again.add_measurement(measured(repetition=repetition))
    assert cells.read_bytes().count(b"\n") == 3
    assert FileJournal(folder).measurements() == [measured(repetition=n) for n in (1, 2, 3)]


def test_a_bench_goes_on_with_more_repetitions_and_topologies(tmp_path: Path) -> None:
    FileJournal.open(tmp_path, RUN).add_measurement(measured())
    later = {**RUN.facts, "day": "2026-11-22", "command": "stormcut bench --repetitions 5"}
    grown = replace(RUN, repetitions=5, topologies=("linear", "star", "diamond"), facts=later)
    journal = FileJournal.open(tmp_path, grown)
    assert journal.measurements() == [measured()]
    again = FileJournal(tmp_path).run
    assert (again.repetitions, again.topologies) == (5, ("linear", "star", "diamond"))
    assert again.facts == RUN.facts


def test_a_bench_goes_on_where_the_same_limit_is_refused_in_other_words(tmp_path: Path) -> None:
    FileJournal.open(
        tmp_path, replace(RUN, refused={"cpu": "node-1: container 3f2a: no permission"})
    )
    again = replace(RUN, refused={"cpu": "node-1: container 77b0: no permission"})
    assert FileJournal.open(tmp_path, again).run.refused == again.refused


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"setting": "cpu-bound"}, "its setting is network-bound, not cpu-bound"),
        ({"schedulers": ("cut",)}, "its schedulers are even, cut, not cut"),
        ({"topologies": ("star",)}, "it has linear too"),
        ({"repetitions": 2}, "it has 3 repetitions, not 2"),
        (
            {"options": {"linear": {"rate": 9, "scale": 1.5, "steps": (1, 2)}}},
            "linear has rate 0, not 9",
        ),
        ({"facts": {"limits": "1 core"}}, "it has limits 0.3 cores, not 1 core"),
        ({"refused": {}}, "limits were refused otherwise: cpu, not none"),
    ],
)
def test_another_bench_does_not_go_into_the_same_folder(
    tmp_path: Path, changes: dict[str, object], what: str
) -> None:
    FileJournal.open(tmp_path, RUN)
    before = (tmp_path / "run.json").read_bytes()
    with pytest.raises(InvalidInput) as error:
        FileJournal.open(tmp_path, replace(RUN, **changes))
    assert str(error.value) == f"{tmp_path}: holds another bench: {what}; choose another folder"
    assert (tmp_path / "run.json").read_bytes() == before


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"nonsense", "is not JSON: Expecting value at line 1, column 1"),
        (b"[]", "must be an object, not a list"),
        (b"{}", 'missing key "cell"'),
        (b'"replayed": 2', "replayed: must be a whole number"),
        (b'"repetition": 1', "cell.repetition: must be a whole number from 1 to"),
        (b'"scheduler": "cut"', "is no cell of this bench"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: bytes, what: str) -> None:
    journal = FileJournal.open(tmp_path, RUN)
    journal.add_measurement(measured("even"))
    journal.add_measurement(measured())
    cells = tmp_path / "cells.jsonl"
    first, second = cells.read_bytes().splitlines()
    if b": " in line:
        key, _, value = line.partition(b": ")
        other = b'"other"' if value.startswith(b'"') else b"-1"
        line = second.replace(line, key + b": " + other)
    cells.write_bytes(b"\n".join([first, line, second, b""]))
    with pytest.raises(InvalidInput) as error:
        FileJournal(tmp_path)
    assert str(error.value).startswith(f"{cells}, line 2: {what}")
    assert "\n" not in str(error.value)


def test_run_json_of_another_version_is_refused(tmp_path: Path) -> None:
    FileJournal.open(tmp_path, RUN)
    path = tmp_path / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 3}))
    with pytest.raises(InvalidInput) as error:
        FileJournal(tmp_path)
    what = "version: must be 1 or 2: another stormcut wrote this, not 3"
    assert str(error.value) == f"{path}: {what}"


def test_acks_of_older_benches_lose_the_id_that_they_never_had(tmp_path: Path) -> None:
    pairs = (
        MeasuredPair(("a", 0), ("__acker", 0), 5.0, 21.0),
        MeasuredPair(("__acker", 0), ("a", 0), 5.0, 13.0),
        MeasuredPair(("a", 0), ("__acker", 1), 5.0, None),
        MeasuredPair(("a", 0), ("b", 0), 5.0, 21.0),
    )
    none = np.zeros(2)
    components = tuple(Component(name, "bolt", 2, none, none) for name in ("__acker", "a", "b"))
    problem = Problem((Node("n", (1,)),), (Topology("linear", components, measured=pairs),))
    FileJournal.open(tmp_path, RUN).add_solution("linear", "even", problem, solve(problem, "even"))

    def sizes() -> list[float | None]:
        found = FileJournal(tmp_path).problem("linear")
        assert found is not None
        return [pair.bytes_per_tuple for pair in found.topologies[0].measured]

    assert sizes() == [21.0, 13.0, None, 21.0]
    path = tmp_path / "run.json"
    older = json.loads(path.read_text())
    path.write_text(json.dumps({**older, "version": 1}))
    assert sizes() == [5.0, 1.0, None, 21.0]
    with pytest.raises(InvalidInput, match="an older stormcut began; choose another folder"):
        FileJournal.open(tmp_path, RUN)


def test_folders_that_are_no_bench(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"holds no bench: there is no run.json"):
        FileJournal(tmp_path / "missing")
    (tmp_path / "cells.jsonl").write_text("")
    with pytest.raises(InvalidInput, match=r"has cells of a bench but no run.json"):
        FileJournal.open(tmp_path, RUN)
    with pytest.raises(InvalidInput, match=r"cannot be made"):
        FileJournal.open(tmp_path / "cells.jsonl", RUN)
