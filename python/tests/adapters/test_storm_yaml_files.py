"""`storm.yaml` as people write it: the plugin goes in, and comes out without a trace."""

from __future__ import annotations

import tempfile
from pathlib import Path

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from stormcut.adapters.machine.home import PluginJars
from stormcut.adapters.storm import plugin
from stormcut.model.errors import InvalidInput

HOOKS, CONSUMERS = "topology.auto.task.hooks", "topology.metrics.consumer.register"
SCHEDULER = "storm.scheduler"
LOGGING = "org.apache.storm.metric.LoggingMetricsConsumer"

NAMES = st.sampled_from(["x.Mine", "y.Theirs", "org.example.Other"])
REMARKS = st.sampled_from(["", "  # since 2019", " # do not touch: prod"])
#: What stands between keys.
GAPS = st.sampled_from(["", "\n", "# a comment\n", "########\n# Nimbus\n########\n", " \n"])
SCALARS = st.sampled_from(
    [
        ("ui.port", "8080"),
        ("storm.local.dir", '"/var/lib/storm"'),
        ("nimbus.childopts", "'-Xmx1024m -Dcom.sun.management.jmxremote'"),
        ("topology.max.spout.pending", "100"),
        ("worker.childopts", "-Xmx%HEAP-MEM%m"),
        ("drpc.servers", '["a", "b"]'),
        ("supervisor.scheduler.meta", "{rack: r1}"),
    ]
)
LISTS = st.sampled_from(
    [
        ("storm.zookeeper.servers", ["zk1", "zk2"]),
        ("supervisor.slots.ports", ["6700", "6701", "6702"]),
        ("nimbus.seeds", ["one"]),
    ]
)


@st.composite
def files(draw: st.DrawFn) -> str:
    """Return the text of a storm.yaml, and never one of our keys twice."""
    indent = " " * draw(st.integers(0, 2))
    inner = indent + " " * draw(st.integers(0, 4))
    parts = []
    keys = set()
    for key, value in draw(st.lists(SCALARS, max_size=4)):
        if key not in keys:
            parts.append(f"{indent}{key}: {value}{draw(REMARKS)}\n")
        keys.add(key)
    for key, values in draw(st.lists(LISTS, max_size=2)):
        if key not in keys:
            items = "".join(f"{inner}- {value}\n" for value in values)
            parts.append(f"{indent}{key}:{draw(REMARKS)}\n{items}")
        keys.add(key)
    if draw(st.booleans()):
        names = sorted(draw(st.sets(NAMES, min_size=1)))
        if draw(st.booleans()):
            parts.append(f"{indent}{HOOKS}: [{', '.join(names)}]{draw(REMARKS)}\n")
        else:
            items = "".join(f"{inner}- {name}{draw(REMARKS)}\n" for name in names)
            parts.append(f"{indent}{HOOKS}:\n{items}")
    if draw(st.booleans()):
        name = draw(st.sampled_from([LOGGING, "x.Graphite", "backtype.storm.LoggingConsumer"]))
        hint = draw(st.sampled_from(["", f"{inner}  parallelism.hint: 2\n"]))
        argument = draw(st.sampled_from(["", f"{inner}  argument:\n{inner}    host: h\n"]))
        parts.append(f"{indent}{CONSUMERS}:\n{inner}- class: {name}\n{hint}{argument}")
    if draw(st.booleans()):
        parts.append(f"{indent}{SCHEDULER}: {draw(NAMES)}{draw(REMARKS)}\n")
    text = "".join(draw(GAPS) + part for part in draw(st.permutations(parts))) + draw(GAPS)
    text = text.rstrip("\n") if draw(st.booleans()) else text
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


def classes(entries: list[object]) -> list[object]:
    return [each["class"] if isinstance(each, dict) else each for each in entries]


@given(files())
@example(f"{HOOKS}:\n- x.Mine\nui.port: 8080")
def test_the_plugin_goes_in_and_comes_out_without_a_trace(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        jars = PluginJars(home / "stormcut-hook-2.jar", home / "stormcut-scheduler-2.jar")
        for jar in (jars.hook, jars.scheduler):
            jar.write_bytes(b"jar")
        place = home / "storm" / "conf" / "storm.yaml"
        place.parent.mkdir(parents=True)
        place.write_bytes(text.encode())
        before = yaml.safe_load(text) or {}
        try:
            plugin.install(home / "storm", jars, "/etc/stormcut.auth")
        except InvalidInput:
            # It says what to mend, and has changed nothing.
            assert place.read_bytes() == text.encode()
            raise
        after = yaml.safe_load(place.read_bytes())
        lists = {HOOKS, CONSUMERS, SCHEDULER}
        assert {k: after[k] for k in before if k not in lists} == {
            k: v for k, v in before.items() if k not in lists
        }
        for key in (HOOKS, CONSUMERS):
            its, had = classes(after[key]), classes(before.get(key, []))
            assert its[: len(had)] == had
            assert len(its) == len(set(its))
        assert after.get("stormcut.fallback.scheduler") == before.get(SCHEDULER)
        plugin.remove(home / "storm", hook=True)
        found = place.read_bytes().decode()
        assert found.rstrip("\r\n") == text.rstrip("\r\n")
