"""An example of the controller's configuration, made from what is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stormcut.adapters.files.config_keys import Document
from stormcut.adapters.files.yaml_document import yaml_text


def example() -> str:
    """Return a file with every key and its default, commented; it needs its zookeeper section."""
    lines = ["# stormcut operate FILE: what the controller does. Times: 10 s, 30 min, 2 h.", ""]
    for name, field in Document.model_fields.items():
        section = field.annotation
        if hasattr(section, "model_fields"):
            lines += _section(name, section)
        else:
            lines += [f"# {field.description}", f"{name}: {_yaml(name, field.default)}", ""]
    return "\n".join(lines)


def shown(values: Mapping[str, Any]) -> str:
    """Return what `effective` returns as the file would say it."""
    lines = []
    for name, value in values.items():
        if isinstance(value, dict):
            lines += [f"{name}:", *(f"  {key}: {_yaml(key, each)}" for key, each in value.items())]
        else:
            lines.append(f"{name}: {_yaml(name, value)}")
    return "\n".join(lines)


_EXAMPLES = {"servers": "localhost:2181", "auth_file": "/etc/stormcut.auth"}


def _section(name: str, section: Any) -> list[str]:
    lines = [f"{name}:"]
    for key, field in section.model_fields.items():
        value = _EXAMPLES[key] if field.is_required() else field.default
        lines += [f"  # {field.description}", f"  {key}: {_yaml(key, value)}"]
    return [*lines, ""]


#: Numbers that are no times.
_FACTORS = frozenset({"enough"})


def _yaml(key: str, value: object) -> str:
    if isinstance(value, float) and value >= 1 and key not in _FACTORS:
        return f"{value:g} s"
    return yaml_text(value, default_flow_style=True).removesuffix("\n").removesuffix("\n...")
