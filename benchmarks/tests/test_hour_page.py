"""The hour's page: a row for each policy, of all its runs, and every run's pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.cluster.hour_figures import shortened
from benchmarks.cluster.hour_page import figures_table, write_pages

PHASE = {"begin_s": 0.0, "end_s": 60.0, "p50_ms": 8.0, "p99_ms": None}


def run(policy: str, acked: float, moves: tuple[float, ...] = (), load: str = "changing") -> Any:
    return {
        "policy": policy,
        "load": load,
        "minutes": 2,
        "acked_share": acked,
        "served_share": acked,
        "p50_ms": 10.0,
        "p99_ms": None,
        "moves": [{"at_s": at, "undone": False} for at in moves],
        "changed": [{"at_s": at, "workers_restarted": 2} for at in moves],
        "workers_restarted": 2 * len(moves),
        "cost_tuples": 100.0 * len(moves),
        "taken_back": 0,
        "answers": [(60.0, None)] if load == "changing" else [],
        "phases": [{"name": load, "acked": 10.0, "offered": 20.0, **PHASE}],
        "events": [{"at_s": at, "kind": "move", "text": f"{policy} moves"} for at in moves],
        "points": [[3.0, 100.0, 90.0, 10.0, 20.0], [6.0, 100.0, 0.0, None, None]],
        "settings": {"cluster": "of four nodes"},
        "made_by": "Made by `a command`.",
    }


def test_a_row_holds_the_mean_of_a_policys_runs() -> None:
    runs = [run("never", 0.5), run("automatic", 0.8, (10.0,)), run("automatic", 1.0, (1.0, 2.0))]
    table = figures_table(runs)
    rows = {row[0]: dict(zip(table.header, row, strict=True)) for row in table.rows}
    assert rows["automatic"]["runs"] == "2"
    assert rows["automatic"]["acked %"] == "90.0 (80.0-100.0)"
    assert rows["automatic"]["moves"] == "1.5"
    assert rows["never"]["acked %"] == "50.0"


def test_under_a_steady_load_what_moves_late_is_counted() -> None:
    table = figures_table([run("automatic", 1.0, (10.0, 301.0, 400.0), "steady")])
    (row,) = (dict(zip(table.header, row, strict=True)) for row in table.rows)
    assert (row["moves"], row["after 5 min"]) == ("3", "2")


def test_the_pages_tell_of_every_run(tmp_path: Path) -> None:
    runs = [
        run("automatic", 0.9, (10.0,)),
        run("never", 0.5),
        run("automatic", 1.0, (20.0,), "steady"),
    ]
    write_pages(tmp_path, runs)
    text, shown = (tmp_path / "README.md").read_text(), (tmp_path / "hour.html").read_text()
    for each in ("The changing load", "The steady load"):
        assert each in text
        assert each in shown
    assert text.count("`a command`") == 1
    # Both beside each other, then each run on its own: throughput and latency.
    assert shown.count('<svg class="chart"') == 2 * (1 + 3)


def test_runs_that_were_disturbed_are_named(tmp_path: Path) -> None:
    blind = run("never", 0.5) | {"points": [[3.0, 100.0, 90.0, None, None]]}
    write_pages(tmp_path, [run("automatic", 0.9), blind])
    text = " ".join((tmp_path / "README.md").read_text().split())
    assert "never (changing, 2 minutes) 100 %" in text
    assert "automatic (changing, 2 minutes)" not in text


def test_without_runs_there_is_no_page(tmp_path: Path) -> None:
    write_pages(tmp_path, [])
    assert not list(tmp_path.iterdir())


def test_runs_of_several_lengths_are_compared_over_the_shortest(tmp_path: Path) -> None:
    longer = {**run("automatic", 0.9, (10.0, 70.0)), "minutes": 2}
    longer["points"] = [*longer["points"], [70.0, 100.0, 0.0, None, None]]
    begun = shortened(longer, 1)
    assert begun["acked_share"] == 0.45
    assert [move["at_s"] for move in begun["moves"]] == [10.0]
    assert (begun["workers_restarted"], begun["p50_ms"], begun["p99_ms"]) == (2, 8.0, None)
    write_pages(tmp_path, [longer, {**run("never", 0.5), "minutes": 1}])
    text = (tmp_path / "README.md").read_text()
    assert "the first 1 minutes of all runs" in text
    assert "\nThe first 1 minutes. never: 50 %" in text
    assert "The changing load, 2 minutes" in text
