from __future__ import annotations

import math
import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from stormcut.adapters.files.config_example import example, shown
from stormcut.adapters.files.config_file import effective, read_config
from stormcut.adapters.files.kafka_topic import NEEDED_JARS
from stormcut.adapters.files.yaml_document import MAX_BYTES
from stormcut.adapters.machine.home import checkout
from stormcut.cli.config import described
from stormcut.control.policy import Mode, Policy, QuietTime, Rule
from stormcut.model.errors import InvalidInput

TOPIC = {"servers": "a:9092", "topic": "metrics", "jars": "jars"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("config")
    auth = found / "auth"
    auth.write_text("stormcut:secret\n")
    auth.chmod(0o600)
    return found


def read(folder, **changes):
    document = {"zookeeper": {"servers": "localhost:2181", "auth_file": "auth"}} | changes
    path = folder / "stormcut.yaml"
    path.write_text(yaml.safe_dump(document))
    return read_config(path)


def test_the_example_holds_every_default(folder):
    path = folder / "example.yaml"
    path.write_text(example().replace("/etc/stormcut.auth", "auth"))
    assert read_config(path) == read(folder)
    assert read(folder).policy == Policy(Mode.ADVISE)


def test_what_is_written_is_what_is_meant(folder):
    config = read(
        folder,
        mode="automatic",
        observe={"logs": ["logs", "/var/log/storm"], "every": "30 s", "half_life": "2 min"},
        policy={
            "name": "periodic",
            "period": "1 h",
            "quiet_hours": ["22:00-06:00", "Sat-Sun 00:00-24:00", "Sun-Mon 10:00-11:00"],
            "restarts_per_hour": None,
        },
        topologies=[{"match": "pay*", "pin": True}],
        drained=["node7"],
    )
    assert config.policy.rule is Rule.PERIODIC
    assert config.policy.quiet_hours == (
        QuietTime(22 * 60, 6 * 60),
        QuietTime(0, 24 * 60, frozenset({5, 6})),
        QuietTime(600, 660, frozenset({6, 0})),
    )
    assert config.policy.rule_of("payments").pin
    assert not config.policy.rule_of("other").pin
    assert config.logs[0] == folder / "logs"
    assert (config.every_s, config.watching.half_life_s, config.watching.period_s) == (
        30,
        120,
        3600,
    )
    assert math.isinf(read(folder).watching.period_s)
    assert not read(folder, policy={"name": "never"}).watching.is_on


def test_with_certificates_it_may_be_reached_from_elsewhere(folder, tls_site):
    elsewhere = {"listen": {"address": "10.1.2.3"}, "http": {"address": "10.1.2.3", "port": 0}}
    for changes in elsewhere:
        with pytest.raises(InvalidInput, match=r"tls\.folder"):
            read(folder, **{changes: elsewhere[changes]})
    config = read(folder, tls={"folder": str(tls_site.folder / "brain")}, **elsewhere)
    assert config.tls.folder == tls_site.folder / "brain"
    with pytest.raises(InvalidInput, match=r"tls\.folder: .*ca\.pem: cannot be read"):
        read(folder, tls={"folder": "nowhere"}, **elsewhere)


def test_a_topic_is_read_by_the_jars_of_its_folder(folder):
    kafka = TOPIC | {"servers": "a:9092,b:9092"}
    (folder / "jars").mkdir()
    for name in NEEDED_JARS:
        with pytest.raises(
            InvalidInput, match=rf"observe\.kafka\.jars: .*holds no {name}.*docs/kafka"
        ):
            read(folder, observe={"kafka": kafka})
        (folder / "jars" / f"{name}1.2.3.jar").touch()
    options = {"security.protocol": "SSL", "fetch.min.bytes": 1}
    found = read(folder, observe={"kafka": {**kafka, "options": options}}).kafka
    assert found.options == {"security.protocol": "SSL", "fetch.min.bytes": "1"}
    assert len(found.jars) == len(NEEDED_JARS)
    assert "topic metrics of Kafka at a:9092,b:9092" in described(
        read(folder, observe={"kafka": kafka})
    )
    assert "topic: metrics" in shown(effective(folder / "stormcut.yaml"))


def test_the_jars_are_those_that_are_collected():
    collected = (checkout() / "scripts" / "kafka-jars" / "pom.xml").read_text()
    artifacts = re.findall(r"<artifactId>([^<]+)</artifactId>\s+<version>\$", collected)
    assert len(artifacts) == len(NEEDED_JARS)
    assert all(f"{name}-".startswith(jar) for name, jar in zip(artifacts, NEEDED_JARS, strict=True))


#: Key, value, and what is told of it: of types, keys, values and files. None hides another.
FAULTS = [
    ("mode", "auto", "mode: must be 'advise', 'approve' or 'automatic'"),
    ("policy.horizon", "soon", "policy.horizon: must be a time such as 10 s"),
    ("policy.restarts_per_hour", "many", "policy.restarts_per_hour: must be a whole number"),
    ("policy.take_back", "perhaps", "policy.take_back: must be true or false"),
    ("placement.min_gain", 7, "placement.min_gain: must be 1 or less, not 7"),
    ("placement.algorithm", "cuts", "placement.algorithm: "),
    ("placement.option", {}, "placement.option: unknown key: did you mean options?"),
    ("observe.logs", ["~nobody-here/x"], "observe.logs: ~nobody-here/x: there is no such user"),
    ("observe.every", 0, "observe.every: must be 1 or more, not 0"),
    ("listen.address", "0.0.0.0", "listen.address: is published"),
    ("listen.port", 99999, "listen.port: must be 65535 or less"),
    ("zookeeper.servers", "zk:x", "zookeeper.servers: "),
    ("zookeeper.auth_file", "missing", "no such file; copy the one"),
    ("drained", 7, "drained: must be a list, not 7"),
]


@given(st.sets(st.integers(0, len(FAULTS) - 1), min_size=1))
def test_every_fault_is_told_whatever_others_there_are(folder, chosen):
    content = {"zookeeper": {"servers": "a:1", "auth_file": "auth"}}
    for key, value, _ in (FAULTS[at] for at in chosen):
        section, _, name = key.partition(".")
        if name:
            content.setdefault(section, {})[name] = value
        else:
            content[section] = value
    with pytest.raises(InvalidInput) as error:
        read(folder, **content)
    told = str(error.value)
    assert "\n" not in told
    for at, (key, _, fault) in enumerate(FAULTS):
        assert (fault in told) == (at in chosen), (key, told)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"mod": "advise"}, "mod: unknown key: did you mean mode?"),
        (
            {"policy": {"mode": "advise"}},
            "mode: unknown key: did you mean mode, outside of policy?",
        ),
        ({"cool_down": "1 h"}, "cool_down: unknown key: did you mean policy.cool_down?"),
        ({"policy": {"horizn": 3}}, "policy.horizn: unknown key: did you mean horizon?"),
        ({"mode": "auto"}, "mode: must be 'advise', 'approve' or 'automatic', not 'auto'"),
        ({"policy": {"horizon": "soon"}}, "must be a time such as 10 s, 30 min or 2 h"),
        ({"policy": {"quiet_hours": ["25:00-26:00"]}}, "two times of the day that differ"),
        ({"policy": {"name": "periodic"}}, "policy.period: belongs to the policies periodic"),
        ({"policy": {"period": "1 h"}}, "policy.period: belongs to the policies periodic"),
        ({"listen": {"address": "0.0.0.0"}}, "listen.address: is published for Nimbus"),
        ({"listen": {"address": "10.1.2.3"}}, "listen.address: other machines would reach it"),
        ({"placement": {"algorithm": "cuts"}}, "cuts"),
        ({"placement": {"options": {"wrkers": "keep"}}}, "wrkers"),
        ({"observe": {"logs": ["x"], "spool": "x/spool"}}, "lie in one another"),
        ({"zookeeper": {"servers": "a:1", "auth_file": "missing"}}, "no such file"),
        ({"zookeeper": {}}, "zookeeper.servers: is missing; zookeeper.auth_file: is missing"),
        ({"zookeeper": {"servers": "zk:x", "auth_file": "auth"}}, "zookeeper.servers: "),
        ({"zookeeper": {"servers": "", "auth_file": "auth"}}, "must be HOST:PORT"),
        ({"zookeeper": {"servers": "a:1", "auth_file": "a\0"}}, "must be a path"),
        ({"zookeeper": {"servers": "a:1", "auth_file": "auth", "root": "x"}}, "zookeeper.root: "),
        ({"observe": {"logs": ["~nobody-here/x"]}}, "there is no such user's home"),
        ({"observe": {"logs": ["a\0b"]}}, "observe.logs: 'a\\x00b': must be a path"),
        ({"observe": {"logs": ["auth"]}}, "is no folder"),
        ({"observe": {"spool": "auth"}}, "is no folder"),
        ({"observe": {"logs": ["a", "a/b"]}}, "lie in one another"),
        ({"observe": {"logs": ["a/../b"], "spool": "b/spool"}}, "lie in one another"),
        ({"observe": {"logs": ["a"], "spool": "a"}}, "lie in one another"),
        (
            {"observe": {"kafka": {"topics": "t"}}},
            "observe.kafka.topics: unknown key: did you mean",
        ),
        ({"observe": {"kafka": 3}}, "observe.kafka: must be a mapping of servers, topic, jars"),
        ({"observe": {"kafka": TOPIC | {"servers": "a"}}}, "servers must be HOST:PORT"),
        ({"observe": {"kafka": TOPIC | {"topic": "a b"}}}, "topic must be 1 to 249 letters"),
        (
            {"observe": {"kafka": TOPIC | {"jars": "a\0b"}}},
            "observe.kafka.jars: 'a\\x00b': must be",
        ),
        ({"observe": {"kafka": TOPIC | {"jars": "x" * 300}}}, "observe.kafka.jars: "),
        ({"policy": {"name": "own"}}, "cut has no rule of its own; bframework, stromax, ols have"),
        ({"policy": {"horizon": "٣ min"}}, "must be a time such as"),
        ({"listen": 3}, "listen: must be a mapping of address, port, insecure"),
        ({"placement": {"options": {"exclude": {"a": 1}}}}, "a word, a number or a list"),
        ({"topologies": [{"math": "a"}]}, "topologies.0.math: unknown key: did you mean match?"),
    ],
)
def test_a_fault_is_named_with_its_place(folder, changes, fault):
    with pytest.raises(InvalidInput) as raised:
        read(folder, **changes)
    assert fault in str(raised.value)
    assert "stormcut.yaml" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("mode: advise\nmode: automatic\n", "key mode occurs twice"),
        ("- a\n", "must be a mapping"),
        ("policy: {horizon: 1:30}\nzookeeper: {servers: a, auth_file: b}\n", "policy.horizon: "),
        ("a: [\n", "is not valid YAML"),
        ("a: !!python/object:os.system {}\n", "is not valid YAML"),
        ("#" * (MAX_BYTES + 1), "is larger than"),
    ],
)
def test_what_is_no_configuration_is_refused(folder, text, fault):
    path = folder / "bad.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=fault):
        read_config(path)


def test_every_fault_is_listed(folder):
    with pytest.raises(InvalidInput) as raised:
        read(
            folder,
            placement={"options": {"wrkers": 1, "effort": "x", "balance": 0}},
            listen={"address": "10.0.0.1"},
            http={"address": "10.0.0.2"},
        )
    told = str(raised.value)
    for fault in ("wrkers", "option effort", "option balance", "listen.address", "http.address"):
        assert fault in told, fault


def test_options_are_written_as_yaml_has_them(folder):
    options = {"exclude": ["a", "b"], "balance": None, "effort": 0.5, "workers": "keep"}
    assert read(folder, placement={"options": options}).settings.options == {
        "exclude": "a,b",
        "balance": "none",
        "effort": "0.5",
        "workers": "keep",
    }


def test_a_section_with_every_key_commented_out_is_none(folder):
    assert read(folder, policy=None, listen=None, drained=None) == read(folder)


def test_folders_are_told_apart_behind_links(folder):
    (folder / "real").mkdir()
    (folder / "link").symlink_to(folder / "real")
    with pytest.raises(InvalidInput, match="lie in one another"):
        read(folder, observe={"logs": ["real"], "spool": "link/spool"})


def test_a_file_that_is_not_there(folder):
    with pytest.raises(InvalidInput, match="No such file"):
        read_config(folder / "none.yaml")


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
KEYS = st.sampled_from(
    ["mode", "zookeeper", "servers", "listen", "policy", "observe", "logs", "name", "period"]
) | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@given(changes=st.dictionaries(KEYS, VALUES, max_size=4))
def test_whatever_it_holds_is_a_configuration_or_a_fault(folder, changes):
    path = folder / "junk.yaml"
    path.write_text(yaml.safe_dump(changes))
    with pytest.raises(InvalidInput):
        read_config(path)


def test_what_counts_is_shown_and_means_the_same_when_read_again(folder):
    quiet = ["22:00-06:00", "Sat-Sun 00:00-24:00", "Sun-Mon 10:00-11:00", "Wed 01:00-02:00"]
    rules = [{"match": "pay*", "pin": True, "priority": 3}]
    read(folder, policy={"quiet_hours": quiet, "horizon": "1 h"}, topologies=rules)
    path = folder / "stormcut.yaml"
    values = effective(path)
    assert values["policy"]["quiet_hours"] == quiet
    again = folder / "again.yaml"
    again.write_text(shown(values))
    assert read_config(again) == read_config(path)
    assert effective(again) == values
