"""``KEY=VALUE`` texts that are keys of storm.yaml."""

from __future__ import annotations

import yaml

from stormcut.model.errors import InvalidInput


def storm_settings(texts: tuple[str, ...]) -> dict[str, object]:
    """Return the settings, each value read as YAML.

    Raises
    ------
    InvalidInput
        A text has another form.
    """
    return dict(map(_setting, texts))


def _setting(text: str) -> tuple[str, object]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise InvalidInput(f"must be KEY=VALUE, not {text!r}", "--set")
    try:
        return key, yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise InvalidInput(f"the value is not YAML: {value!r}", f"--set {key}") from error
