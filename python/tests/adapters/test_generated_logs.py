"""Whatever people's logs look like, the profile is what their hooks counted.

A hundred topologies, each of its own form, in one job: heads of lines and digits of any locale,
lines in any order, written twice, cut up into rolled, compressed logs, behind links, beside lines
of anything else, and before a move that nothing is to be left of.
"""

from __future__ import annotations

import random
from collections import defaultdict

import pytest
from storm_metrics import Task, write_log

from stormcut.adapters.spark.profiling import profile_logs

START = 1_700_000_000
TOPOLOGIES = 100
HEADS = (
    "2023-11-14 22:13:20,123 61000    ",
    "2023-11-14T22:13:20.123+05:30 ",
    "22:13:20.123 o.a.s.m.LoggingMetricsConsumer main-SendThread [INFO] ",
    "14.11.2023 22:13:20 7 INFO  [Thread-12-__metricsorg.apache[9 9]] ",
    "1700000000 ",
    "",
)
DIGITS = ("0123456789", "٠١٢٣٤٥٦٧٨٩", "۰۱۲۳۴۵۶۷۸۹", "०१२३४५६७८९")
NAMES = ("words", "a,b", "$spoutcoord-spout-1", "größe", "two words", "x=1", "[2]", "bolt:3", "%d")
#: How names of topologies begin: Storm forbids only / . : and \\ in them.
STARTS = ("t", "a+b ", "50%25-", "größe[1]-", "{x}*", "統計-")
NOISE = (
    "",
    "garbage",
    "\t\t\t\t",
    "java.lang.OutOfMemoryError: GC overhead limit exceeded",
    "        at org.apache.storm.utils.Utils$6.run(Utils.java:2137) ~[storm-client.jar:1.2]",
)


class Generated:
    """One topology's logs, and what its hooks counted since its last move."""

    def __init__(self, name: str, chance: random.Random) -> None:
        self.name, self.chance = name, chance
        self.head, self.digits = chance.choice(HEADS), chance.choice(DIGITS)
        count = chance.randint(2, 6)
        names = [chance.choice(NAMES) for _ in range(count)]
        self.before, self.tasks = (
            [self.task(t, names[t - 1]) for t in range(1, count + 1)] for _ in "ab"
        )
        places = [[(t.host, t.port) for t in tasks] for tasks in (self.before, self.tasks)]
        self.moves = chance.random() < 0.5 and places[0] != places[1]

    def task(self, number: int, component: str) -> Task:
        chance = self.chance
        others = [t for t in range(1, 7) if t != number and chance.random() < 0.5]
        to = {}
        for other in others:
            sampled = chance.randint(0, 20)
            to[other] = (chance.randint(1, 10_000), sampled, sampled * chance.randint(1, 500))
        host, port = f"node{chance.randint(1, 3)}", 6700 + chance.randint(0, 2)
        cpu = chance.uniform(0.0, 9_000.0)
        return Task(number, component, host, port, to=to, cpu_ms=cpu)

    def lines(self) -> list[tuple[int, str]]:
        """Port and line, in the order of time."""
        moved = START + 60
        first = range(START + 10, moved, 10) if self.moves else ()
        epochs = [(epoch, self.before) for epoch in first]
        epochs += [(epoch, self.tasks) for epoch in range(moved, moved + 60, 10)]
        return [(t.port, self.told(t.line(epoch))) for epoch, tasks in epochs for t in tasks]

    def told(self, line: str) -> str:
        """The line under this topology's pattern: log4j writes the head, Java's `%d` the digits."""
        place, name, value = line.rsplit("\t", 2)
        epoch, host, source = place.split("\t")
        own = (f"{epoch.split()[-1]}", host, source)
        number = str.maketrans(DIGITS[0], self.digits)
        worker, _, port = own[1].rpartition(":")
        task, _, component = own[2].partition(":")
        parts = own[0].translate(number), f"{worker}:{port.translate(number)}"
        return "\t".join(
            (self.head + parts[0], parts[1], f"{task.translate(number)}:{component}", name, value)
        )

    def write(self, folder) -> tuple[int, int]:
        """Write the logs; return how many lines are written twice, and how many are none."""
        chance, by_port = self.chance, defaultdict(list)
        for port, line in self.lines():
            by_port[port].append(line)
        twice = noise = 0
        for port, lines in by_port.items():
            again = [line for line in lines if chance.random() < 0.1]
            beside = chance.choices(NOISE, k=chance.randint(0, 3))
            twice, noise = twice + len(again), noise + len(beside)
            every = [*lines, *again, *beside]
            if chance.random() < 0.5:
                chance.shuffle(every)
            cut = chance.randint(0, len(every))
            if cut and chance.random() < 0.5:
                write_log(folder, self.name, port, every[:cut], rolled=1)
                every = every[cut:]
            write_log(folder, self.name, port, every)
        return twice, noise


def test_profiles_are_what_the_hooks_counted(tmp_path):
    chance = random.Random(55)
    every = [
        Generated(f"{chance.choice(STARTS)}{n}-1-1700000000", chance) for n in range(TOPOLOGIES)
    ]
    twice = noise = 0
    for number, each in enumerate(every):
        more = each.write(tmp_path / f"disk {number % 3}")
        twice, noise = twice + more[0], noise + more[1]
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "workers-artifacts").symlink_to(tmp_path / "disk 0" / "workers-artifacts")

    # A topology whose logs are elsewhere, in a folder of another name.
    moved = tmp_path / "disk 1" / "workers-artifacts" / every[1].name
    moved.rename(tmp_path / "elsewhere")
    moved.symlink_to(tmp_path / "elsewhere")

    folders = [tmp_path / name for name in ("logs", "disk 1", "disk 2")]
    result = profile_logs(folders, tmp_path / "out")

    lines = result.lines
    assert (lines.repeated, sum(lines.unused.values())) == (twice, noise)
    assert set(result.profiles) == {each.name for each in every}
    for each in every:
        profile = result.profiles[each.name]
        present = {task.task for task in each.tasks}
        rates = {(t.source_task, t.target_task): t.tuples_per_second for t in profile.traffic}
        assert rates == {
            (task.task, other): pytest.approx(count / 10)
            for task in each.tasks
            for other, (count, _, _) in task.to.items()
            if other in present or (task.task, other) in rates
        }
        sizes = {(t.source_task, t.target_task): t.bytes_per_tuple for t in profile.traffic}
        for task in each.tasks:
            for other, (_, sampled, size) in task.to.items():
                if (task.task, other) in sizes:
                    expected = pytest.approx(size / sampled) if sampled and size else None
                    assert sizes[task.task, other] == expected
        loads = {load.start_task: (load.component, load.cpu_percent) for load in profile.executors}
        assert loads == {
            task.task: (task.component, pytest.approx(task.cpu_ms / 100)) for task in each.tasks
        }
