"""Strict YAML: what is no mapping of plain values is told in one line, whatever it is."""

import math
import random
import string

import pytest
import yaml
from damage import messages
from hypothesis import given
from hypothesis import strategies as st

from stormcut.adapters.files.yaml_document import MAX_BYTES, read_yaml, yaml_text
from stormcut.model.errors import InvalidInput

TEXTS = st.text(string.printable + "äß↑", max_size=12)
NAMES = st.text(string.ascii_letters + string.digits + " :-#&*!", min_size=1, max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=10,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("yaml") / "file.yaml"


def read(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_yaml(path)


@given(st.dictionaries(NAMES, VALUES, max_size=4), st.booleans())
def test_what_is_written_is_read(path, mapping, flow):
    assert read(path, yaml_text(mapping, default_flow_style=flow)) == mapping


@pytest.mark.parametrize("text", ["0E0", "1e3", "0o7", "on", "1:30", "null", "~", ""])
def test_text_that_looks_like_something_else_stays_text(path, text):
    written = yaml_text({"a": text, "b": [text]})
    assert read(path, written) == yaml.safe_load(written) == {"a": text, "b": [text]}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("No", "No"),
        ("1:30", "1:30"),
        ("22:00-06:00", "22:00-06:00"),
        ("2024-01-01", "2024-01-01"),
        ("1_000", "1_000"),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("1e3", 1000.0),
        ("-.inf", -math.inf),
        ("~", None),
        ("", None),
        ("TRUE", True),
        ("'true'", "true"),
        ("!!str 12", "12"),
        ("<<", "<<"),
    ],
)
def test_plain_values_are_those_of_yaml_1_2(path, text, value):
    assert read(path, f"key: {text}\n") == {"key": value}
    assert read(path, f"\ufeff# first\nkey: [{text or '~'}]\n") == {"key": [value]}


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "{}"])
def test_an_empty_file_is_an_empty_mapping(path, text):
    assert read(path, text) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("a: 1\nb: 2\na: 3\n", ":3: is not valid YAML: key a occurs twice"),
        ("a: {b: 1, b: 1}\n", ":1: is not valid YAML: key b occurs twice"),
        ("a: &x [1]\nb: *x\n", ":1: is not valid YAML: no aliases here"),
        ("a: &x [*x]\n", "no aliases here"),
        ("a: 1\n1: 2\n", ":2: is not valid YAML: a key must be printable text"),
        ("[a]: 1\n", "a key must be printable text"),
        ('"a\\nb": 1\n', "a key must be printable text"),
        ('"\\e[31m": 1\n', "a key must be printable text"),
        ("a: !!int x\n", "tag tag:yaml.org,2002:int cannot"),
        ('a: !!int ""\n', "cannot be used"),
        ("a: !!bool x\n", "cannot be used"),
        ("a: !!timestamp x\n", "cannot be used"),
        ("a: !!map [1]\n", "cannot be used"),
        ("a: !!binary aGk=\n", "cannot be used"),
        ("a: !!python/object/apply:os.getpid []\n", "cannot be used"),
        ('a: "\\UFFFFFFFF"\n', "is not valid YAML"),
        (f"a: {'9' * 5000}\n", "is not valid YAML: Exceeds the limit"),
        (f"a: {'[' * 5000}\n", "nested too deeply"),
        ("a: 1\n--- \nb: 1\n", "is not valid YAML: but found another document"),
        ("- a\n", "must be a mapping"),
        ("a: [\n", "is not valid YAML"),
        ("a: 1\n".encode("utf-16"), "is not UTF-8 at byte 0"),
        (b"a: \0\n", "is not valid YAML"),
        (b"#" * (MAX_BYTES + 1), "is larger than 1,048,576 bytes"),
    ],
    ids=lambda each: str(each)[:20],
)
def test_what_cannot_be_used_is_told_in_one_line(path, content, fault):
    with pytest.raises(InvalidInput) as raised:
        read(path, content)
    assert str(path) in str(raised.value)
    assert fault in str(raised.value)
    assert str(raised.value).isprintable()


def test_as_much_as_is_allowed_is_read(path):
    assert read(path, b"a: 1\n" + b"#" * (MAX_BYTES - 5)) == {"a": 1}


@pytest.mark.parametrize("name", [".", "none.yaml", "/dev/zero"])
def test_what_is_no_file_is_told(path, name):
    with pytest.raises(InvalidInput, match=r"cannot be read|is larger"):
        read_yaml(path.parent / name)


#: Most bytes are no text, and most text is not valid YAML: the second kind gets further.
ALPHABETS = {"bytes": bytes(range(256)), "marks": b"[]{}:,-&*!|>'\"%@`#? \n\tabc019.~<=\\U"}


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_random_files_are_a_mapping_or_a_fault(path, alphabet):
    chance = random.Random(1)
    for _ in range(messages()):
        content = bytes(chance.choices(ALPHABETS[alphabet], k=chance.randrange(60)))
        try:
            assert isinstance(read(path, content), dict)
        except InvalidInput as error:
            assert str(error).isprintable(), content
