import os
from pathlib import Path

import pytest
import yaml

from stormcut.adapters.machine.home import PluginJars, checkout
from stormcut.adapters.storm import plugin
from stormcut.model.errors import InvalidInput

OWN = "# ours\nnimbus.seeds: [one]\n\nui.port: 8080  # taken\n"


@pytest.fixture
def jars(tmp_path: Path) -> PluginJars:
    hook, scheduler = tmp_path / "stormcut-hook-2.jar", tmp_path / "stormcut-scheduler-2.jar"
    for jar in (hook, scheduler):
        jar.write_bytes(b"jar")
    return PluginJars(hook, scheduler)


@pytest.fixture
def storm(tmp_path: Path) -> Path:
    """A Storm home with a configuration of its user's."""
    home = tmp_path / "storm"
    (home / "conf").mkdir(parents=True)
    (home / "conf" / "storm.yaml").write_text(OWN)
    return home


def config(storm: Path) -> str:
    return (storm / "conf" / "storm.yaml").read_text()


def jars_in(storm: Path) -> set[str]:
    return {str(jar.relative_to(storm)) for jar in storm.glob("extlib*/*")}


def test_nimbus_gets_keys_and_both_jars(storm: Path, jars: PluginJars) -> None:
    plugin.install(storm, jars, "/etc/stormcut.auth")
    found = yaml.safe_load(config(storm))
    assert found.items() >= {**plugin.KEYS, "ui.port": 8080}.items()
    assert found["stormcut.zookeeper.auth.file"] == "/etc/stormcut.auth"
    assert jars_in(storm) == {
        "extlib/stormcut-hook-2.jar",
        "extlib-daemon/stormcut-scheduler-2.jar",
    }


def test_a_supervisor_gets_the_hook_alone(storm: Path, jars: PluginJars) -> None:
    plugin.install(storm, jars, None)
    assert jars_in(storm) == {"extlib/stormcut-hook-2.jar"}
    assert config(storm) == OWN


def test_a_newer_version_takes_the_place_of_the_old(storm: Path, jars: PluginJars) -> None:
    plugin.install(storm, jars, "/old")
    (storm / "extlib" / "stormcut-hook-2.jar").rename(storm / "extlib" / "stormcut-hook-1.jar")
    plugin.install(storm, jars, "/new")
    assert len(jars_in(storm)) == 2
    assert config(storm).count("stormcut.zookeeper.auth.file") == 1
    assert "/new" in config(storm)


@pytest.mark.parametrize("text", [OWN, OWN.rstrip("\n"), ""], ids=["lines", "no last end", "empty"])
def test_removal_leaves_no_trace(storm: Path, jars: PluginJars, text: str) -> None:
    (storm / "conf" / "storm.yaml").write_text(text)
    (storm / "conf" / "storm.yaml").chmod(0o640)
    plugin.install(storm, jars, "/etc/stormcut.auth")
    assert plugin.remove(storm, hook=True) == plugin.Removed(
        (
            "the keys in conf/storm.yaml",
            "extlib-daemon/stormcut-scheduler-2.jar",
            "extlib/stormcut-hook-2.jar",
        ),
        left=(),
        nimbus=True,
    )
    assert config(storm).rstrip("\n") == text.rstrip("\n")
    assert (storm / "conf" / "storm.yaml").stat().st_mode & 0o777 == 0o640
    assert jars_in(storm) == set()
    assert plugin.remove(storm, hook=True) == plugin.Removed((), (), nimbus=False)


ISOLATION = "org.apache.storm.scheduler.IsolationScheduler"


@pytest.mark.parametrize("form", ["storm.scheduler: {}", "storm.scheduler : '{}'  # since 2019"])
def test_the_scheduler_that_was_there_decides_wherever_no_plan_does_and_comes_back(
    storm: Path, jars: PluginJars, form: str
) -> None:
    text = f"{form.format(ISOLATION)}\n{OWN}"
    (storm / "conf" / "storm.yaml").write_text(text)
    for _ in range(2):
        plugin.install(storm, jars, "/etc/stormcut.auth")
        keys = yaml.safe_load(config(storm))
        assert keys["storm.scheduler"] == "io.stormcut.StormcutScheduler"
        assert keys["stormcut.fallback.scheduler"] == ISOLATION
    plugin.remove(storm, hook=True)
    assert config(storm) == text


HOOKS, CONSUMERS = "topology.auto.task.hooks", "topology.metrics.consumer.register"
LOGGING = "org.apache.storm.metric.LoggingMetricsConsumer"
#: What people have in their storm.yaml, and what is theirs in the lists afterwards.
THEIRS = {
    "the template's blank": (
        ' storm.zookeeper.servers:\n     - "a"\n \n nimbus.seeds: ["b"]\n',
        {},
    ),
    "an own hook": (f"{HOOKS}: [x.Mine] # since 2019\n{OWN}", {HOOKS: ["x.Mine"]}),
    "hooks below each other": (
        f"# first\n{HOOKS}:\n# mine\n  - x.Mine\n\n  - y.Mine\n# next\n{OWN}",
        {HOOKS: ["x.Mine", "y.Mine"]},
    ),
    "the same consumer": (
        f"{CONSUMERS}:\n  - class: {LOGGING}\n    parallelism.hint: 2\n",
        {CONSUMERS: [{"class": LOGGING, "parallelism.hint": 2}]},
    ),
    "another consumer": (
        f" {CONSUMERS}:\n - class: x.Graphite\n   argument: {{host: h}}\n ui.port: 8080",
        {CONSUMERS: [{"class": "x.Graphite", "argument": {"host": "h"}}]},
    ),
    "a document's start": ("---\na: 1\n", {}),
    "comments alone": ("# only\n# comments\n", {}),
    "all of it": (
        f"storm.scheduler: {ISOLATION}\n{HOOKS}: [x.Mine]\n{CONSUMERS}: [{{class: x.Y}}]\n",
        {HOOKS: ["x.Mine"], CONSUMERS: [{"class": "x.Y"}]},
    ),
    "windows": ("a: 1\r\n" + f"{HOOKS}: [x.Mine]\r\n" + "b: 2\r\n", {HOOKS: ["x.Mine"]}),
}


@pytest.mark.parametrize("kind", THEIRS)
def test_what_is_there_stays_and_comes_back(storm: Path, jars: PluginJars, kind: str) -> None:
    text, theirs = THEIRS[kind]
    place = storm / "conf" / "storm.yaml"
    place.write_bytes(text.encode())
    for _ in range(2):
        plugin.install(storm, jars, "/etc/stormcut.auth")
        keys = yaml.safe_load(place.read_bytes())
        for key in (HOOKS, CONSUMERS):
            its, had = keys[key], theirs.get(key, [])
            assert its[: len(had)] == had
            names = [each["class"] if isinstance(each, dict) else each for each in its]
            assert {HOOKS: "io.stormcut.StormcutHook", CONSUMERS: LOGGING}[key] in names
            assert len(names) == len(set(names))
        others = {k: v for k, v in (yaml.safe_load(text) or {}).items() if k not in plugin.KEYS}
        assert {key: keys[key] for key in others} == others
    plugin.remove(storm, hook=True)
    assert place.read_bytes().decode().rstrip("\n") == text.rstrip("\n")


def test_the_hook_stays_for_topologies_that_carry_it(storm: Path, jars: PluginJars) -> None:
    plugin.install(storm, jars, "/etc/stormcut.auth")
    removed = plugin.remove(storm, hook=False)
    assert removed.left == ("extlib/stormcut-hook-2.jar",)
    assert jars_in(storm) == {"extlib/stormcut-hook-2.jar"}


def test_what_the_user_set_is_not_overwritten(storm: Path, jars: PluginJars) -> None:
    text = f"{OWN}topology.multilang.serializer: org.example.Mine\n"
    (storm / "conf" / "storm.yaml").write_text(text)
    with pytest.raises(InvalidInput, match=r"topology\.multilang\.serializer already"):
        plugin.install(storm, jars, "/etc/stormcut.auth")
    assert config(storm) == text
    assert jars_in(storm) == set()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a: [", "is not YAML at line"),
        (b"- a\n", "KEY: VALUE"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_a_storm_yaml_that_cannot_be_read_stays_as_it_is(
    storm: Path, jars: PluginJars, content: bytes, words: str
) -> None:
    (storm / "conf" / "storm.yaml").write_bytes(content)
    with pytest.raises(InvalidInput, match=words):
        plugin.install(storm, jars, "/etc/stormcut.auth")
    assert (storm / "conf" / "storm.yaml").read_bytes() == content
    assert jars_in(storm) == set()


def test_without_room_for_its_jar_nimbus_is_not_told_to_load_it(
    storm: Path, jars: PluginJars
) -> None:
    (storm / "extlib-daemon").write_text("in the way")
    with pytest.raises(InvalidInput, match="extlib-daemon: cannot be written"):
        plugin.install(storm, jars, "/etc/stormcut.auth")
    assert config(storm) == OWN


def test_a_folder_that_is_no_storm_home_is_refused(tmp_path: Path, jars: PluginJars) -> None:
    with pytest.raises(InvalidInput, match="no Storm home"):
        plugin.install(tmp_path, jars, None)
    with pytest.raises(InvalidInput, match="no Storm home"):
        plugin.remove(tmp_path, hook=True)


@pytest.mark.parametrize("text", ["{}\n", "{a: 1}\n", "a: 1\n...\n"])
def test_a_storm_yaml_that_the_keys_cannot_follow_stays_as_it_is(
    storm: Path, jars: PluginJars, text: str
) -> None:
    """Nimbus would not start from what came out."""
    (storm / "conf" / "storm.yaml").write_text(text)
    with pytest.raises(InvalidInput, match="one below the other"):
        plugin.install(storm, jars, "/etc/stormcut.auth")
    assert config(storm) == text
    assert jars_in(storm) == set()


@pytest.mark.parametrize("spoil", ["# begin stormcut", "# end stormcut"])
def test_the_jar_stays_while_keys_without_marks_name_it(
    storm: Path, jars: PluginJars, spoil: str
) -> None:
    plugin.install(storm, jars, "/etc/stormcut.auth")
    text = config(storm).replace(spoil, "# ours")
    (storm / "conf" / "storm.yaml").write_text(text)
    with pytest.raises(InvalidInput, match=r"still sets storm\.scheduler outside the marked block"):
        plugin.remove(storm, hook=False)
    with pytest.raises(InvalidInput, match=r"topology\.auto\.task\.hooks"):
        plugin.remove(storm, hook=True)
    assert config(storm) == text
    assert len(jars_in(storm)) == 2


def test_the_hooks_jar_stays_while_a_metrics_consumer_needs_it(
    storm: Path, jars: PluginJars
) -> None:
    plugin.install(storm, jars, None)
    consumers = "topology.metrics.consumer.register: [{class: io.stormcut.KafkaMetricsConsumer}]\n"
    (storm / "conf" / "storm.yaml").write_text(consumers)
    with pytest.raises(InvalidInput, match=r"still sets topology\.metrics\.consumer\.register"):
        plugin.remove(storm, hook=True)
    assert len(jars_in(storm)) == 1


def test_ends_of_lines_and_links_stay(storm: Path, jars: PluginJars) -> None:
    place = storm / "storm.yaml"
    (storm / "conf" / "storm.yaml").rename(place)
    place.write_bytes(b"a: 1\r\nb: 2\r\n")
    (storm / "conf" / "storm.yaml").symlink_to(place)
    plugin.install(storm, jars, "/etc/stormcut.auth")
    assert place.read_bytes().startswith(b"a: 1\r\nb: 2\r\n#")
    assert [each.name for each in storm.iterdir() if each.is_file()] == ["storm.yaml"]
    plugin.remove(storm, hook=True)
    assert place.read_bytes() == b"a: 1\r\nb: 2\r\n"
    assert (storm / "conf" / "storm.yaml").is_symlink()


def test_storm_s_user_can_read_the_jars(storm: Path, jars: PluginJars) -> None:
    jars.hook.chmod(0o600)
    before = os.umask(0o077)
    try:
        plugin.install(storm, jars, None)
    finally:
        os.umask(before)
    assert (storm / "extlib").stat().st_mode & 0o777 == 0o755
    assert (storm / "extlib" / jars.hook.name).stat().st_mode & 0o777 == 0o644


def test_the_page_has_the_keys_to_set_by_hand() -> None:
    page = ((checkout() or Path()) / "docs" / "protocol.md").read_text(encoding="utf-8")
    (block,) = [part for part in page.split("```yaml\n") if part.startswith("storm.scheduler")]
    keys = yaml.safe_load(block.partition("```")[0])
    assert keys == {**plugin.KEYS, "stormcut.zookeeper.auth.file": "/etc/stormcut.auth"}


@pytest.mark.parametrize("local", ["", "elsewhere", "/absolute"])
def test_what_the_scheduler_keeps_goes_with_it(
    storm: Path, jars: PluginJars, tmp_path: Path, local: str
) -> None:
    folder = f"{tmp_path}{local}" if local.startswith("/") else local
    if folder:
        (storm / "conf" / "storm.yaml").write_text(f"{OWN}storm.local.dir: {folder}\n")
    kept = storm / (folder or "storm-local") / "nimbus" / "stormcut-applied.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("{}")
    plugin.install(storm, jars, "/etc/stormcut.auth")
    assert any("stormcut-applied.json" in what for what in plugin.remove(storm, hook=True).taken)
    assert not kept.exists()
