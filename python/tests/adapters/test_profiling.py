"""Profiles of logs in Storm's exact format, read in this process and by Spark."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import subprocess
import sys
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path

import pytest
from storm_metrics import Task, metric_line, write_log

from stormcut.adapters.files import log_splits
from stormcut.adapters.files.log_files import find_metrics_logs
from stormcut.adapters.files.profile_file import read_profile
from stormcut.adapters.spark.profiling import profile_logs
from stormcut.model.errors import InvalidInput
from stormcut.profile.result import ProfileResult

START = 1_700_000_000
#: 15 points of a worker with two subprocesses, on two cores of which others use much.
USAGE: dict[str, float | str] = {
    "cpu_ms": 1500.0,
    "cores": 2.0,
    "machine_cpu_ms": 12_000.0,
    "in_bytes": 1_250_000.0,
    "out_bytes": 2_500_000.0,
    "machine": "0f-1a",
}
WORDS = Task(
    1,
    "words",
    "node1",
    6700,
    worker=USAGE,
    to={2: (600, 6, 240), 3: (400, 4, 160)},
    local=600,
    acked=100,
    failed=2,
    complete_ms=(50.0, 5),
)
NEAR = Task(2, "count", "node1", 6700, child=(11, 1000.0, 30 * 2**20))
FAR = Task(3, "count", "node2", 6710, child=(12, 2000.0, 31 * 2**20))
SAMPLE = Path(__file__).parents[1] / "data" / "metrics"


@pytest.fixture
def session(spark: object) -> object:
    """A Spark session, which jobs share."""
    return spark


def lines_of(tasks: list[Task], epochs: range, **options: bool) -> list[str]:
    return [task.line(epoch, **options) for epoch in epochs for task in tasks]


def table(session: object, result: Path, name: str) -> list[dict[str, object]]:
    return [row.asDict() for row in session.read.parquet(str(result / name)).collect()]  # type: ignore[attr-defined]


@pytest.mark.spark
def test_two_topologies_in_plain_and_rolled_logs_of_two_supervisors(
    tmp_path: Path, session: object
) -> None:
    one, two = tmp_path / "sup[1]", tmp_path / "sup 2"
    rolled = lines_of([WORDS, NEAR, FAR], range(START + 10, START + 40, 10))
    now = lines_of([WORDS, NEAR, FAR], range(START + 40, START + 70, 10), epoch_head=True)
    cut = WORDS.line(START + 70)[:-30]
    newer = FAR.line(START + 70).replace('"v":1', '"v":2')
    write_log(one, "wc-1-1700000000", 6700, rolled, rolled=1)
    write_log(one, "wc-1-1700000000", 6700, [*now, "garbage", cut, newer])
    # The same components again, four times as fast, and one line twice: in another log.
    twin = [
        replace(task, to={t: (4 * n, 0, 0) for t, (n, _, _) in task.to.items()})
        for task in (WORDS, NEAR, FAR)
    ]
    others = lines_of(twin, range(START + 10, START + 70, 10))
    write_log(two, "wc-2-1700000000", 6700, [*others, others[0]])

    result = profile_logs([one, two, tmp_path], tmp_path / "out", with_tables=True)

    assert list(result.profiles) == ["wc-1-1700000000", "wc-2-1700000000"]
    profile = read_profile(tmp_path / "out" / "profile-wc-1-1700000000.json")
    assert profile == result.profiles["wc-1-1700000000"]
    assert (profile.from_epoch_s, profile.to_epoch_s) == (START + 10, START + 60)
    pairs = {(t.source_task, t.target_task): t.tuples_per_second for t in profile.traffic}
    assert pairs == {(1, 2): 60.0, (1, 3): 40.0}
    assert {t.bytes_per_tuple for t in profile.traffic} == {40.0}
    loads = {load.start_task: (load.cpu_percent, load.memory_mb) for load in profile.executors}
    assert loads == {1: (5.0, None), 2: (pytest.approx(15.0), 30.0), 3: (25.0, 31.0)}
    (worker,) = profile.workers
    assert astuple(worker) == ("node1", 6700, "0f-1a", 25.0, 2.0, 120.0, 1.0, 2.0)

    measured = result.measured["wc-1-1700000000"]
    assert measured.emitted_per_s == 100.0
    assert measured.between_nodes_per_s == measured.between_workers_per_s == 40.0
    assert measured.between_workers_by_hook_per_s == 40.0
    assert (measured.acked_per_10_s, measured.failed) == (100.0, 10)
    assert measured.complete_latency_ms == 10.0
    assert (measured.nodes_used, measured.workers_used) == (2, 2)
    assert measured.missing_executors == ()
    assert result.measured["wc-2-1700000000"].emitted_per_s == 400.0
    assert result.profiles["wc-2-1700000000"].traffic[0].bytes_per_tuple is None

    lines = result.lines
    assert (lines.files, lines.read, lines.hook, lines.repeated) == (3, 40, 37, 1)
    assert sorted(lines.unused.values()) == [1, 1, 1]
    assert {example.line for example in lines.examples} == {"garbage", cut, newer}
    counted = table(session, tmp_path / "out", "lines")
    assert sum(row["lines"] for row in counted) == 40  # type: ignore[misc]
    flow = table(session, tmp_path / "out", "throughput")
    assert {
        (r["emitted"], r["between_nodes"], r["tasks"])
        for r in flow
        if r["topology"] == "wc-1-1700000000"
    } == {(1000, 400, 3)}


@pytest.mark.spark
def test_targets_are_placed_as_they_move_and_new_runs_warm_up(
    tmp_path: Path, session: object
) -> None:
    topology = "wc-1-1700000000"
    before = lines_of([WORDS, NEAR, FAR], range(START + 10, START + 50, 10))
    # A plan moves task 3 beside the others: their worker restarts, half an interval is lost.
    together = [WORDS, NEAR, FAR.moved("node1", 6700)]
    first = [task.line(START + 65, ms=3_000) for task in together]
    after = lines_of(together, range(START + 75, START + 115, 10))
    starts = [
        metric_line(START + second, "node1", 6700, -1, "__system", "startTimeSecs", f"{value}E9")
        for second, value in ((20, 1.699999995), (70, 1.700000058))
    ]
    write_log(tmp_path / "logs", topology, 6700, before + first + after + starts)

    since = profile_logs([tmp_path / "logs"], tmp_path / "out")
    assert since.moved == {topology: START + 62.0}
    assert since.measured[topology].between_nodes_per_s == 0.0
    whole = profile_logs([tmp_path / "logs"], tmp_path / "out", from_epoch=0, with_tables=True)

    traffic = table(session, tmp_path / "out", "traffic")
    places = {(row["end_s"], row["target_host"]) for row in traffic if row["target_task"] == 3}
    assert {host for end, host in places if end <= START + 40} == {"node2"}  # type: ignore[operator]
    assert {host for end, host in places if end > START + 40} == {"node1"}  # type: ignore[operator]
    used = {row["end_s"] for row in traffic if row["in_window"]}
    assert not {START + 10, START + 65, START + 75} & used
    assert {START + 20, START + 85} <= used
    assert {row["worker_start_s"] for row in traffic} == {1_699_999_995.0, 1_700_000_058.0}
    # 3 intervals before and 3 after: the run began at 62, so that 65 to 75 is still warm-up.
    assert whole.measured[topology].between_nodes_per_s == pytest.approx(40 * 3 / 6)
    assert whole.measured[topology].emitted_per_s == pytest.approx(100.0)

    later = profile_logs([tmp_path / "logs"], tmp_path / "out", from_epoch=START + 60)
    assert later.measured[topology].between_nodes_per_s == 0.0
    assert later.measured[topology].emitted_per_s == pytest.approx(100.0)
    with pytest.raises(InvalidInput, match=f"span the epoch seconds {START} to {START + 105}"):
        profile_logs([tmp_path / "logs"], tmp_path / "out", from_epoch=START + 1000)


def _add(seconds: int, epoch: re.Match[str]) -> str:
    return str(int(epoch[0]) + seconds)


def _rounded(value: object) -> str:
    """Return its text without digits that depend on the order of a sum."""
    return re.sub(r"\d+\.\d{9,}", lambda number: f"{float(number[0]):.9g}", str(value))


@pytest.mark.spark
def test_large_logs_give_what_small_ones_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs that are read in this process, in one part each, and by Spark in many."""
    sample = (SAMPLE / "taxi-10-seconds.metrics").read_text()
    for number in range(6):  # ten seconds each, in the logs of two workers
        later = re.sub(r"\b17953540\d\d\b", partial(_add, 10 * number), sample)
        lines = [*later.splitlines(), "garbage"]
        write_log(tmp_path / f"{number}", "taxi-1-1795353851", 6700 + number % 2, lines)
    write_log(tmp_path / "again", "taxi-1-1795353851", 6700, lines)
    small = profile_logs([tmp_path], tmp_path / "small", warm_up=5)
    monkeypatch.setattr(log_splits, "SPLIT_BYTES", 10_000)
    for number, master in enumerate((None, "local[2]")):
        large = profile_logs([tmp_path], tmp_path / f"large {number}", warm_up=5, master=master)
        assert _rounded(large) == _rounded(small)
    assert small.lines.repeated == 50


def test_silent_executors_are_named_and_missing_lines_do_not_bend_rates(tmp_path: Path) -> None:
    silent = replace(WORDS, to={**WORDS.to, 9: (100, 0, 0)}, executor=(1, 1))
    lines = lines_of([silent, NEAR, FAR], range(START + 10, START + 110, 10))
    del lines[9:15]
    lines.append(metric_line(START + 30, "node2", 6710, 7, "rank", "__emit-count", "{default=3}"))
    write_log(tmp_path / "logs", "wc-1-1700000000", 6700, lines)

    result = profile_logs([tmp_path / "logs"], tmp_path / "out", warm_up=0)

    measured = result.measured["wc-1-1700000000"]
    # Task 9 is known only as a target, as a metrics consumer always is: no place, no load.
    assert measured.missing_executors == ("rank[7-7]",)
    assert [e.start_task for e in result.profiles["wc-1-1700000000"].executors] == [1, 2, 3]
    assert measured.emitted_per_s == pytest.approx(110.0)
    assert measured.unplaced_per_s == pytest.approx(10.0)
    assert measured.acked_per_10_s == pytest.approx(100.0)


def test_what_is_measured_for_a_part_of_the_time_is_scaled(tmp_path: Path) -> None:
    busy = replace(
        WORDS,
        to={2: (30, 6, 240), 3: (20, 4, 160)},
        local=30,
        acked=5,
        failed=0,
        measured_ms=500.0,
    )
    unusable = replace(busy, measured_ms=0.0).line(START + 50)
    for name, task in (("wc-1-1700000000", WORDS), ("wc-2-1700000000", busy)):
        lines = lines_of([task, NEAR, FAR], range(START + 10, START + 50, 10))
        write_log(tmp_path / "logs", name, 6700, [*lines, unusable])
    result = profile_logs([tmp_path / "logs"], tmp_path / "out")
    whole, part = (result.profiles[name] for name in ("wc-1-1700000000", "wc-2-1700000000"))
    assert part.traffic == whole.traffic
    always, scaled = (result.measured[name] for name in ("wc-1-1700000000", "wc-2-1700000000"))
    assert scaled.emitted_per_s == always.emitted_per_s == 100.0
    assert scaled.between_workers_by_hook_per_s == always.between_workers_by_hook_per_s
    assert scaled.acked_per_10_s == always.acked_per_10_s
    assert scaled.complete_latency_ms == always.complete_latency_ms
    assert sum(result.lines.unused.values()) == 2


def test_storm_s_own_latency_stands_in_when_the_hook_sampled_none(tmp_path: Path) -> None:
    words = replace(WORDS, complete_ms=(0.0, 0))
    lines = lines_of([words, NEAR, FAR], range(START + 10, START + 40, 10))
    for epoch, latency, acked in ((START + 20, 10.0, 300), (START + 30, 30.0, 100)):
        lines.append(words.metric(epoch, "__complete-latency", f"{{default={latency}}}"))
        lines.append(words.metric(epoch, "__ack-count", f"{{default={acked}}}"))
    write_log(tmp_path / "logs", "wc-1-1700000000", 6700, lines)
    result = profile_logs([tmp_path / "logs"], tmp_path / "out")
    assert result.measured["wc-1-1700000000"].complete_latency_ms == pytest.approx(15.0)


@pytest.mark.spark
def test_real_lines_of_storm_1_2_4(tmp_path: Path, session: object) -> None:
    """Lines of a cluster without the hook: all of them parse; one hook line is added."""
    folder = tmp_path / "logs" / "workers-artifacts" / "taxi-1-1795252629" / "17702"
    folder.mkdir(parents=True)
    real = (SAMPLE / "storm-1.2.4.metrics").read_text()
    target = folder / "worker.log.metrics"
    target.write_text(real)
    unhooked = profile_logs([tmp_path], tmp_path / "out", with_tables=True)
    assert (unhooked.profiles, unhooked.unmeasured) == ({}, ("taxi-1-1795252629",))
    rates = {each.component: each for each in unhooked.components["taxi-1-1795252629"]}
    assert all(not name.startswith("__") for name in rates)
    assert rates["source"].emitted_per_s > 0 and rates["rolling_count"].executed_per_s > 0
    target.write_text(real + WORDS.line(1_795_252_659) + "\n")
    result: ProfileResult = profile_logs([tmp_path], tmp_path / "out", warm_up=0, with_tables=True)
    assert result.lines.unused == {}
    rows = table(session, tmp_path / "out", "components")
    first = [row for row in rows if row["epoch_s"] == 1_795_252_649]
    values = {(r["task"], r["port"], r["metric"], r["key"]): r["value"] for r in first}
    assert values[1, 17701, "__receive", "capacity"] == 1024.0
    assert values[1, 17701, "__ack-count", "source:__ack_init"] == 640.0
    assert values[-1, 17701, "startTimeSecs", None] == 1_795_252_632.855
    assert any(r["metric"] == "memory/heap" and r["key"] == "usedBytes" for r in rows)


def test_a_folder_in_the_way_is_left_alone(tmp_path: Path) -> None:
    write_log(tmp_path / "logs", "wc-1-1700000000", 6700, [WORDS.line(START)])
    mine = tmp_path / "out" / "load" / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("keep")
    with pytest.raises(InvalidInput, match="in the way"):
        profile_logs([tmp_path / "logs"], tmp_path / "out", with_tables=True)
    assert mine.read_text() == "keep"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["load"]


def test_any_head_and_any_digits_are_understood(tmp_path: Path) -> None:
    def told(line: str, head: str, digits: str) -> str:
        place, name, value = line.split(" ", 2)[-1].rsplit("\t", 2)
        epoch, rest = place.split("\t", 1)[0].split()[-1], place.split("\t", 1)[1]
        ours = f"{epoch}\t{rest}".translate(str.maketrans("0123456789", digits))
        return f"{head}{ours}\t{name}\t{value}"

    plain = [replace(task, host="node-a") for task in (WORDS, NEAR)]
    time = "2023-11-14 22:13:20"
    heads = (
        (f"{time}.123+0200 61000    ", "0123456789"),
        ("", "۰۱۲۳۴۵۶۷۸۹"),
        (f"{time} o.a.s.m.L Thread-1[2 2] [INFO] ", "०१२३४५६७८९"),
    )
    for number, form in enumerate(heads):
        lines = [told(line, *form) for line in lines_of(plain, range(START + 10, START + 70, 10))]
        write_log(tmp_path / "logs", f"wc-{number}-1700000000", 6700, lines)
    result = profile_logs([tmp_path / "logs"], tmp_path / "out")
    assert result.lines.unused == {}
    assert [each.emitted_per_s for each in result.measured.values()] == [100.0] * 3


def test_a_log_that_is_not_understood_says_which_part(tmp_path: Path) -> None:
    line = WORDS.line(START + 10)
    parts = {
        "not a line of Storm's metrics consumer": line.replace("\t", " "),
        "no seconds since 1970 before its first tab": line.replace(f"{START + 10}\t", "soon\t"),
        "no host:port before its second tab": line.replace(":6700", "/6700"),
        "no task:component before its third tab": line.replace("1:words", "one:words"),
        "value of the hook with missing or wrong parts": line[:-30],
    }
    good = lines_of([WORDS], range(START + 20, START + 60, 10))
    write_log(tmp_path / "logs", "wc-1-1700000000", 6700, [*parts.values(), *good])
    assert profile_logs([tmp_path / "logs"], tmp_path / "out").lines.unused == dict.fromkeys(
        parts, 1
    )
    write_log(tmp_path / "bad", "wc-1-1700000000", 6700, [line.replace("1:words", "one:words")])
    with pytest.raises(InvalidInput, match=r"none of 1 lines is understood.*no task:component"):
        profile_logs([tmp_path / "bad"], tmp_path / "out")


def test_links_above_a_topology_are_followed_and_artifacts_have_any_name(tmp_path: Path) -> None:
    lines = lines_of([WORDS, NEAR], range(START + 10, START + 40, 10))
    write_log(tmp_path / "disk", "wc-1-1700000000", 6700, lines)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "workers-artifacts").symlink_to(tmp_path / "disk" / "workers-artifacts")
    (tmp_path / "logs" / "round").symlink_to(tmp_path / "logs")
    (tmp_path / "disk" / "workers-artifacts").rename(tmp_path / "disk" / "artifacts")
    (tmp_path / "logs" / "workers-artifacts").unlink()
    (tmp_path / "logs" / "workers-artifacts").symlink_to(tmp_path / "disk" / "artifacts")
    never_ran = tmp_path / "other" / "logs"
    logs, skipped = find_metrics_logs([tmp_path / "logs", tmp_path / "disk", never_ran])
    assert {topology: len(paths) for topology, paths in logs.items()} == {"wc-1-1700000000": 1}
    assert [(each.path, "run no worker yet" in each.problem) for each in skipped] == [
        (str(never_ran), True)
    ]


def test_storm_s_own_counters_tell_rates_of_what_has_no_hook(tmp_path: Path) -> None:
    at = [START + 60 * n for n in (1, 2, 3)]
    lines = [
        metric_line(epoch, "node1", 6700, task, component, name, value)
        for epoch in at
        for task, component, name, value in (
            (1, "words", "__emit-count", "{default=600, other=60}"),
            (2, "count", "__execute-count", "{words:default=300}"),
            (2, "count", "__execute-latency", "{words:default=0.5}"),
            (3, "count", "__execute-count", "{words:default=900}"),
            (3, "count", "__execute-latency", "{words:default=0.1}"),
            (9, "__acker", "__execute-count", "{words:__ack_init=900}"),
        )
    ]
    write_log(tmp_path / "logs", "wc-1-1700000000", 6700, lines)
    result = profile_logs([tmp_path / "logs"], tmp_path / "out")
    count, words = result.components["wc-1-1700000000"]
    assert (words.component, words.tasks, words.emitted_per_s) == ("words", 1, 11.0)
    assert (count.component, count.tasks, count.executed_per_s) == ("count", 2, 20.0)
    assert count.execute_ms == pytest.approx(0.2)


def test_inputs_that_cannot_be_used_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is not a folder"):
        find_metrics_logs([tmp_path / "none"])
    with pytest.raises(InvalidInput, match=r"storm\.log\.dir"):
        find_metrics_logs([tmp_path])
    write_log(tmp_path, "wc-1-1700000000", 6700, [])
    with pytest.raises(InvalidInput, match="no log of topology other; there are wc-1-1700000000"):
        find_metrics_logs([tmp_path], "other")
    with pytest.raises(InvalidInput, match="are empty"):
        profile_logs([tmp_path], tmp_path / "out")


@pytest.mark.spark
def test_the_command_prints_json_and_writes_csv(tmp_path: Path, session: object) -> None:
    from click.testing import CliRunner

    from stormcut.cli.profile import profile

    lines = lines_of([WORDS, NEAR, FAR], range(START + 10, START + 50, 10))
    write_log(tmp_path / "logs", "wc-1-1700000000", 6700, [*lines, "garbage"])
    arguments = [str(tmp_path / "logs"), "--output", str(tmp_path / "out")]
    done = CliRunner().invoke(profile, [*arguments, "--json"], catch_exceptions=False)
    document = json.loads(done.stdout)
    assert document["topologies"][0]["between_nodes_per_s"] == 40.0
    assert document["lines"]["unused"] == {"not a line of Storm's metrics consumer": 1}
    done = CliRunner().invoke(profile, [*arguments, "--csv"], catch_exceptions=False)
    for name in ("load", "traffic"):
        with (tmp_path / "out" / f"{name}.csv").open(newline="") as file:
            written = list(csv.DictReader(file))
        rows = table(session, tmp_path / "out", name)
        assert rows and [list(each) for each in written] == [list(each) for each in rows]
        assert sorted(
            tuple("" if each is None else str(each) for each in row.values()) for row in rows
        ) == sorted(tuple(each.values()) for each in written)
    done = CliRunner().invoke(profile, arguments, catch_exceptions=False)
    assert "garbage" in done.stdout and "tuples/s between nodes" in done.stdout
    assert max(map(len, done.stdout.split("Profiles: ")[0].splitlines())) <= 100


def damaged(folder: Path, whole: bytes) -> list[Path]:
    """Make logs that cannot be read beside one that can; return them."""
    logs = folder / "workers-artifacts" / "wc-1-1700000000"
    (logs / "6701").mkdir(parents=True)
    (logs / "6702").mkdir()
    cut, noise, dangling = (
        logs / "6701" / "worker.log.metrics.1.gz",
        logs / "6701" / "worker.log.metrics.2.gz",
        logs / "6702" / "worker.log.metrics",
    )
    cut.write_bytes(gzip.compress(whole)[:-20])
    noise.write_bytes(b"\x1f\x8b\x08\0" + b"noise" * 100)
    dangling.symlink_to(folder / "nowhere")
    return [dangling, cut, noise]


def test_logs_that_cannot_be_read_are_named_and_the_others_used(tmp_path: Path) -> None:
    check_that_damaged_logs_are_named(tmp_path, None)


@pytest.mark.spark
def test_spark_names_logs_that_cannot_be_read_too(tmp_path: Path, session: object) -> None:
    check_that_damaged_logs_are_named(tmp_path, "local[2]")


def check_that_damaged_logs_are_named(tmp_path: Path, master: str | None) -> None:
    lines = lines_of([WORDS, NEAR, FAR], range(START + 10, START + 70, 10))
    write_log(tmp_path / "logs", "wc-1-1700000000", 6700, lines)
    whole = profile_logs([tmp_path / "logs"], tmp_path / "whole")
    bad = damaged(tmp_path / "logs", "\n".join(lines * 100).encode())
    seen: list[str] = []
    result = profile_logs(
        [tmp_path / "logs"], tmp_path / "out", master=master, progress=seen.append
    )
    assert result.profiles == whole.profiles
    assert {file.path for file in result.lines.skipped} == set(map(str, bad))
    assert result.lines.files == 1
    assert "looking for damaged logs" in seen
    assert not list((tmp_path / "out").glob(".stormcut-*"))


def test_nothing_but_damaged_logs_is_one_clear_error(tmp_path: Path) -> None:
    bad = damaged(tmp_path, b"x" * 10_000)
    with pytest.raises(InvalidInput, match=r"cannot be read: .*others"):
        profile_logs([tmp_path], tmp_path / "out")
    assert bad
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.spark
def test_a_termination_signal_leaves_no_folder(tmp_path: Path) -> None:
    lines = lines_of([WORDS, NEAR, FAR], range(START + 10, START + 70, 10))
    write_log(tmp_path / "logs", "wc-1-1700000000", 6700, lines)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-m", "stormcut.cli.main", "profile", str(tmp_path / "logs")]
    command += ["--master", "local[2]"]
    process = subprocess.Popen(
        [*command, "--output", str(tmp_path / "out")],
        env={**os.environ, "TMPDIR": str(scratch)},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        assert any("parsing" in line for line in process.stderr)
        process.terminate()
        assert process.wait(120) == 130
        assert process.stderr.read().split() == ["stormcut:", "interrupted"]
    finally:
        process.kill()
        process.wait()
    assert not list((tmp_path / "out").iterdir())
    assert not list(scratch.iterdir())
