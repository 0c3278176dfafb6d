"""Reads YAML strictly, and writes it: one mapping, each key once, plain values as in YAML 1.2.

The YAML library reads by YAML 1.1, where ``on`` is true and ``1:30`` is 90; and its constructors
raise whatever they please for tags such as ``!!int x``. So it finds the nodes, no more.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from stormcut.model.errors import InvalidInput

MAX_BYTES = 1 << 20

_PREFIX = "tag:yaml.org,2002:"
_PLAIN = {
    "null": re.compile(r"~|null|Null|NULL|"),
    "bool": re.compile(r"true|True|TRUE|false|False|FALSE"),
    "int": re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"),
    "float": re.compile(
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
    ),
}


class _Loader(yaml.SafeLoader):
    """Knows the plain values above, and none of YAML 1.1."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        None: [
            (_PREFIX + kind, re.compile(rf"(?:{form.pattern})\Z")) for kind, form in _PLAIN.items()
        ]
    }


class _Dumper(yaml.SafeDumper):
    """Quotes text that YAML 1.1 or 1.2 would take for something else, such as 1e3."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        **yaml.SafeDumper.yaml_implicit_resolvers,
        **_Loader.yaml_implicit_resolvers,
    }


def yaml_text(value: object, **style: Any) -> str:
    """Return a value as YAML, in the order of its keys; ``style`` is PyYAML's."""
    text: str = yaml.dump(value, Dumper=_Dumper, sort_keys=False, **style)
    return text


def read_yaml(path: Path) -> dict[str, object]:
    """Return the mapping that a file holds; none if it holds nothing but comments.

    Raises
    ------
    InvalidInput
        It cannot be read, is larger than 1 MiB, no UTF-8 or no such YAML; names the line.
    """
    where = str(path)
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", where) from None
    if len(content) > MAX_BYTES:
        raise InvalidInput(f"is larger than {MAX_BYTES:,} bytes", where)
    try:
        root = yaml.compose(content.decode("utf-8-sig"), _Loader)
        document = None if root is None else _value(root, set())
    except UnicodeDecodeError as error:
        raise InvalidInput(f"is not UTF-8 at byte {error.start}", where) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f":{mark.line + 1}" if mark else ""
        what = f"is not valid YAML: {_shown(error.problem)}"
        raise InvalidInput(what, f"{where}{line}") from None
    except (yaml.YAMLError, OverflowError, ValueError) as error:
        raise InvalidInput(f"is not valid YAML: {_shown(error)}", where) from None
    except RecursionError:
        raise InvalidInput("is nested too deeply", where) from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise InvalidInput("must be a mapping of keys, such as mode: advise", where)
    return document


def _value(node: yaml.Node, seen: set[int]) -> object:
    """Return what a node holds; ``seen`` are the identities of those before it."""
    if id(node) in seen:
        raise _fault(node, "no aliases here: write it out")
    seen.add(id(node))
    kind = node.tag.removeprefix(_PREFIX)
    if isinstance(node, yaml.MappingNode) and kind == "map":
        return _mapping(node, seen)
    if isinstance(node, yaml.SequenceNode) and kind == "seq":
        return [_value(each, seen) for each in node.value]
    if isinstance(node, yaml.ScalarNode) and kind == "str":
        return str(node.value)
    if isinstance(node, yaml.ScalarNode) and kind in _PLAIN and _PLAIN[kind].fullmatch(node.value):
        return _plain(kind, node.value)
    raise _fault(node, f"tag {node.tag} cannot be used for this")


def _mapping(node: yaml.MappingNode, seen: set[int]) -> dict[str, object]:
    mapping: dict[str, object] = {}
    for key, value in node.value:
        name = _value(key, seen)
        if not isinstance(name, str) or not name or not name.isprintable():
            raise _fault(key, "a key must be printable text")
        if name in mapping:
            raise _fault(key, f"key {name} occurs twice")
        mapping[name] = _value(value, seen)
    return mapping


def _plain(kind: str, text: str) -> object:
    if kind == "null":
        return None
    if kind == "bool":
        return text.lower() == "true"
    if kind == "int":
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


def _fault(node: yaml.Node, what: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=what, problem_mark=node.start_mark)


def _shown(what: object) -> str:
    """Return a message in one line that a terminal can show."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(what)).split())
