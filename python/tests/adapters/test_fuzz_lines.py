"""Whatever the lines of metrics logs hold, each is used or counted, and the others count."""

from __future__ import annotations

import random

import pytest
from damage import damaged, messages
from storm_metrics import write_log
from test_profiling import FAR, NEAR, START, WORDS, lines_of
from test_spark_streaming import TOPOLOGY, Stream

from stormcut.adapters.spark.profiling import profile_logs

pytestmark = pytest.mark.spark

WHOLE = [WORDS, NEAR, FAR]
BEFORE, AFTER = range(START + 10, START + 40, 10), range(START + 40, START + 60, 10)


def test_damaged_lines(spark, tmp_path):
    """Both as one log that is read at once, and as a piece of the stream."""
    chance, stream = random.Random(59), Stream(spark, tmp_path)
    metrics = [
        WORDS.line(START + 30),
        FAR.line(START + 30),
        NEAR.metric(START, "a", "{b=1, c=2.5}"),
    ]
    bad = []
    for _ in range(messages()):
        line = chance.choice(metrics).encode()
        head, tab, value = line.rpartition(b"\t")
        is_value = chance.random() < 0.5
        bad.append(head + tab + damaged(value, chance) if is_value else damaged(line, chance))
    log = stream.logs / "workers-artifacts" / TOPOLOGY / "6700" / "worker.log.metrics"
    log.parent.mkdir(parents=True)
    with stream.open() as ended:
        stream.feed(lines_of(WHOLE, BEFORE))
        with log.open("ab") as file:
            file.writelines(line + b"\n" for line in bad)
        stream.feed(lines_of(WHOLE, AFTER))
        assert ended() is None
    assert sum(stream.problems.values()) > messages() / 4
    assert stream.profile()[0].to_epoch_s == AFTER[-1]
    lines = profile_logs([stream.logs], tmp_path / "out").lines
    assert lines.read == lines.hook + lines.metrics + sum(lines.unused.values())
    assert sum(lines.unused.values()) == sum(stream.problems.values())


#: A part of a line, and a number that cannot be.
BEYOND = (
    ('"ms":10000', '"ms":1e999'),
    ('"ms":10000', '"measured_ms":1e-300,"ms":10000'),
    ('"acked":100', '"acked":9223372036854775807'),
    ("[600,6,240]", "[9223372036854775807,6,240]"),
    ("[600,6,240]", "[600,6,9223372036854775807]"),
    ('"complete_ms":[50.0,5]', '"complete_ms":[1e999,5]'),
    ('"cpu_ms":500.0', '"cpu_ms":1e300'),
    (f"\t{WORDS.task:>3}:", "\t-99999999999:"),
    (f"{START + 30}\t", "9223372036854775807\t"),
)


def test_a_number_that_cannot_be_ends_nothing(spark, tmp_path):
    """Spark ends a whole batch where a sum or a cast leaves its type's range."""
    whole = lines_of(WHOLE, range(START + 10, START + 60, 10))
    line = WORDS.line(START + 30)
    assert all(sound in line for sound, _ in BEYOND)
    broken = [line.replace(*each) for each in BEYOND]
    write_log(tmp_path / "logs", TOPOLOGY, 6700, [*whole, *broken])
    lines = profile_logs([tmp_path / "logs"], tmp_path / "out").lines
    assert (lines.hook, sum(lines.unused.values())) == (len(whole), len(BEYOND))
