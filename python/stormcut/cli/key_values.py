"""``KEY=VALUE`` texts on the command line."""

from __future__ import annotations

from stormcut.model.errors import InvalidInput


def parse_pairs(pairs: tuple[str, ...], option: str = "--option") -> dict[str, str]:
    """Return ``KEY=VALUE`` texts of an option as a mapping.

    Raises
    ------
    InvalidInput
        A text has another form, or a key occurs twice.
    """
    options: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise InvalidInput(f"must be KEY=VALUE, not {pair!r}", option)
        if key in options:
            raise InvalidInput("given twice", f"{option.lstrip('-')} {key}")
        options[key] = value
    return options
