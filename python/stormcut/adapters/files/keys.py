"""One validator for every YAML file that people write: keys, types and bounds, faults in words."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from stormcut.model.errors import InvalidInput

#: What would do, by the sort of a fault.
_WANTED = {
    "missing": "is missing",
    "string_type": "must be text, in quotes if need be",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be a mapping of keys to values",
    "greater_than": "must be more than {gt:g}",
    "greater_than_equal": "must be {ge:g} or more",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be {le:g} or less",
    "too_short": "must have {min_length} or more",
    "too_long": "must have {max_length} or fewer",
}


#: A repair may show another fault, of the section that it was in.
MAX_REPAIRS = 5


class Keys(BaseModel):
    """What all files and their sections have in common: no other keys, no other types."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True
    )


_Keys = TypeVar("_Keys", bound=Keys)


def sound(
    model: type[_Keys], content: Mapping[str, object], fill: Mapping[str, Any]
) -> _Keys | None:
    """Return a model of what is right in a file, None without enough of it.

    Parameters
    ----------
    fill : mapping of str to object
        Values for keys that must be there and are missing or wrong, by path.
    """
    kept = copy.deepcopy(dict(content))
    for _ in range(MAX_REPAIRS):
        try:
            return model.model_validate(kept)
        except ValidationError as error:
            for fault in error.errors():
                _repair(kept, fault["loc"], fill)
    return None


def _repair(content: Any, path: Sequence[int | str], fill: Mapping[str, Any]) -> None:
    """Take a faulty value out of a file's content, or put another in its place."""
    name = ".".join(map(str, path))
    *sections, key = path
    for part in sections:
        inside = isinstance(content, list) and isinstance(part, int) and part < len(content)
        if not (inside or (isinstance(content, dict) and part in content)):
            return
        content = content[part]
    if name in fill and isinstance(content, dict):
        content[key] = fill[name]
    elif isinstance(content, dict):
        content.pop(key, None)
    elif isinstance(content, list) and isinstance(key, int) and key < len(content):
        del content[key]


def faults_in(model: type[Keys], content: Mapping[str, object]) -> list[str]:
    """Return what does not fit in a file's content, in words."""
    try:
        model.model_validate(content)
    except ValidationError as error:
        return [_words(model, fault) for fault in error.errors()]
    return []


def validated(model: type[_Keys], content: Mapping[str, object], path: Path) -> _Keys:
    """Return a file's content as its model.

    Raises
    ------
    InvalidInput
        It does not fit; all faults are named, each with its key.
    """
    if faults := faults_in(model, content):
        raise invalid(path, faults)
    return model.model_validate(content)


def invalid(path: Path, faults: Sequence[str]) -> InvalidInput:
    """Return the error that names all faults of a file."""
    return InvalidInput("; ".join(faults), str(path))


def _words(model: type[Keys], fault: ErrorDetails) -> str:
    """Return one fault in words: where, what, what would do."""
    where = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        return f"{where}: unknown key{_hint(model, fault['loc'])}"
    if fault["type"] == "model_type":
        return f"{where}: must be a mapping of {', '.join(_known_keys(model, fault['loc']))}"
    given = f", not {fault['input']!r}" if isinstance(fault["input"], str | int | float) else ""
    return f"{where}: {_wanted(fault)}{given if fault['type'] != 'missing' else ''}"


def _hint(model: type[Keys], path: tuple[int | str, ...]) -> str:
    """Return what an unknown key may stand for: its own name elsewhere, or a similar one here."""
    *section, key = path
    elsewhere = list(_places_of(model, str(key)))
    if len(elsewhere) == 1:
        outside = "" if "." in elsewhere[0] else f", outside of {section[0]}"
        return f": did you mean {elsewhere[0]}{outside}?"
    near = get_close_matches(str(key), _known_keys(model, tuple(section)), 1)
    return f": did you mean {near[0]}?" if near else ""


def _places_of(model: type[Keys], key: str, within: str = "") -> Iterator[str]:
    """Yield the paths of a key in a file, list positions left out."""
    for name, field in model.model_fields.items():
        if name == key:
            yield within + name
        if section := _section(field.annotation):
            yield from _places_of(section, key, f"{within}{name}.")


def _wanted(fault: ErrorDetails) -> str:
    """Return what would do; of faults that we do not know, in the words of the library."""
    limits = fault.get("ctx", {})
    if fault["type"] == "value_error":
        return fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "literal_error":
        return f"must be {limits['expected']}"
    if fault["type"] in _WANTED:
        return _WANTED[fault["type"]].format(**limits)
    message = fault["msg"].replace("Input should be", "must be")
    return f"{message[0].lower()}{message[1:]}"


def _known_keys(model: type[Keys], path: tuple[int | str, ...]) -> list[str]:
    """Return the keys that there are at a path, none where it is no section."""
    section: Any = model
    for part in path:
        if isinstance(part, int):
            continue
        field = section.model_fields.get(part) if section else None
        section = _section(field.annotation) if field else None
    return list(section.model_fields) if section else []


def _section(annotation: Any) -> Any:
    """Return the model in an annotation, which may be optional or a list; None: no model."""
    if hasattr(annotation, "model_fields"):
        return annotation
    return next((section for each in get_args(annotation) if (section := _section(each))), None)
