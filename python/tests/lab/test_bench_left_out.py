"""A bench whose cluster is made up: what goes wrong with one topology costs no other."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from stormcut.application.compare import Contender
from stormcut.application.waiting import TimedOut
from stormcut.cli.steps import Steps
from stormcut.lab.adapters.bench.journal import FileJournal
from stormcut.lab.adapters.bench.setting import read_setting
from stormcut.lab.adapters.storm import topology_project
from stormcut.lab.experiment.bench import cell as bench_cell
from stormcut.lab.experiment.bench import run as bench_run
from stormcut.lab.experiment.bench.cell import measure_cell
from stormcut.lab.experiment.bench.cells import BenchRun, Cell, Measurement, Start
from stormcut.lab.experiment.bench.contest import Host
from stormcut.lab.experiment.bench.counters import NodeCounters
from stormcut.lab.experiment.bench.entrants import Entrants
from stormcut.lab.experiment.bench.pace import RemainingTime
from stormcut.lab.experiment.bench.plan import BenchPlan, Timing
from stormcut.lab.experiment.bench.planner import BenchPlanner
from stormcut.lab.experiment.bench.ports import Entrant, Equipment
from stormcut.lab.experiment.bench.run import Bench
from stormcut.lab.experiment.bench.windows import Sample, SourceWindow
from stormcut.lab.experiment.ports import Servers
from stormcut.profile.lines import LineSummary
from stormcut.profile.result import ProfileResult

SCHEDULERS, TOPOLOGIES = ("even", "cut"), ("linear", "star")
HOSTS = {1: "10.0.0.1"}


class Rig:
    """Starts nothing; topologies whose names begin with one of `silent` never ack.

    By its counters the one node uses 0.75 cores, everything else `others`.
    """

    cores = 2

    def __init__(self, silent: tuple[str, ...], others: float = 0.0) -> None:
        self._silent = silent
        self._others = others
        self._seconds = 0
        self.tried: list[str] = []

    @property
    def nodes(self) -> dict[str, Host]:
        return {}

    @property
    def servers(self) -> Servers:
        return {}

    def start(self, name: str, topology: str, options: Mapping[str, object]) -> Entrant:
        self.tried.append(name)
        if name.startswith(self._silent):
            raise TimedOut(f"300 s are over: all sources of {name} ack")
        return Entrant(name, f"{name}-1-1", frozenset(), ())

    def hosts(self, entrant: Entrant) -> dict[int, str]:
        return HOSTS

    @contextmanager
    def running(self, entrant: Entrant) -> Iterator[None]:
        yield

    def end(self, entrant: Entrant) -> None:
        pass

    def samples(self, entrant: Entrant) -> dict[str, Sample]:
        return {}

    def counters(self) -> NodeCounters:
        self._seconds += 1
        used = 0.75 * self._seconds
        busy = used + self._others * self._seconds
        return NodeCounters(self._seconds, (0,), (0,), (used,), busy, (0,), (0,))


def nothing_measured(**window: object) -> ProfileResult:
    """Stand in for Spark: there are no logs to profile."""
    return ProfileResult({}, {}, (), LineSummary(0, 0, 0, 0, 0, {}, ()))


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(cell: Cell, *_: object) -> Measurement:
        return Measurement(cell, 0, 10, 100.0, 1, 1, 1, 1, 5.0, (0.2,), 0.1, 0)

    monkeypatch.setattr(bench_run, "measure_cell", measured)
    monkeypatch.setattr(BenchPlanner, "seen", lambda self, name: None)
    monkeypatch.setattr(Entrants, "_placements", lambda *_: dict.fromkeys(SCHEDULERS, HOSTS))


def run(folder: Path, *silent: str) -> tuple[Rig, FileJournal]:
    """Run a bench of two topologies and two schedulers, or what is left of it."""
    rig = Rig(silent)
    plan = BenchPlan(read_setting("network"), SCHEDULERS, TOPOLOGIES, 2, Timing())
    journal = FileJournal.open(
        folder, BenchRun("network", "", SCHEDULERS, TOPOLOGIES, 2, {}, {}, {})
    )
    steps = Steps("bench")
    bench = Bench(
        plan, Equipment(Contender.parse, rig, journal, nothing_measured, topology_project, steps)
    )
    steps.say(bench.left())
    bench.run()
    return rig, journal


@pytest.mark.usefixtures("made_up")
def test_a_topology_that_never_acks_is_left_out_and_tried_again_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, journal = run(tmp_path, "linear")
    assert found.tried == ["linear-even", "linear-even", "star-even", "star-cut"]
    why = "300 s are over: all sources of linear-even ack"
    assert journal.starts()[0] == Start("linear", "even", why)
    assert {each.cell.topology for each in journal.measurements()} == {"star"}
    said = capsys.readouterr().err.splitlines()
    assert f"linear-even is left out for now: {why}" in said
    assert "8 cells left, about 6 min" in said
    assert sum("(0 cells left" in line for line in said) == 1, "what is left out is not awaited"

    found, journal = run(tmp_path)
    assert found.tried == ["linear-even", "linear-cut"]
    assert not any(each.failure for each in journal.starts())
    assert len(journal.measurements()) == 8


@pytest.mark.usefixtures("made_up")
def test_a_placement_that_does_not_start_costs_only_its_own_cells(tmp_path: Path) -> None:
    _, journal = run(tmp_path, "star-cut")
    failed = [each for each in journal.starts() if each.failure]
    assert failed == [Start("star", "cut", "300 s are over: all sources of star-cut ack")]
    missing = Cell("star", 1, "cut"), Cell("star", 2, "cut")
    assert len(journal.measurements()) == 6
    assert not {each.cell for each in journal.measurements()} & set(missing)


@pytest.mark.parametrize(
    ("others", "unsteady"), [(1.2, "the machine was full: others used 1.2 cores"), (0.3, "")]
)
def test_a_window_on_a_machine_full_of_others_is_unsteady(
    monkeypatch: pytest.MonkeyPatch, others: float, unsteady: str
) -> None:
    steady = SourceWindow(0.0, 10.0, 100.0, 0, 1.0, 1.0, 1.0, 1.0, "")
    monkeypatch.setattr(bench_cell, "measure", lambda *_: steady)
    at_once = Timing(settle_s=0.0, patience_s=0.0)
    entrant = Entrant("linear-even", "linear-even-1-1", frozenset(), ())
    found = measure_cell(Cell("linear", 1, "even"), entrant, Rig((), others), at_once)
    assert (found.unsteady, found.other_cores) == (unsteady, pytest.approx(others))


def test_what_is_left_is_told_by_guesses_and_then_by_what_was_done() -> None:
    pace = RemainingTime(Timing())
    assert pace.left(cells=6, starts=4) == "6 cells left, about 5 min"
    pace.starts_took(2, 120.0)
    pace.cell_took(30.0)
    assert pace.left(cells=4, starts=2) == "4 cells left, about 4 min"
    assert pace.left(cells=0, starts=0) == "0 cells left, about 0 min"
