"""One validator for every YAML file that people write: keys, types and bounds, faults in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from stormcut.model.errors import InvalidInput


class Keys(BaseModel):
    """What all files and their sections have in common: no other keys, no other types."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, arbitrary_types_allowed=True
    )


_Keys = TypeVar("_Keys", bound=Keys)


def validated(model: type[_Keys], content: Mapping[str, object], path: Path) -> _Keys:
    """Return a file's content as its model.

    Raises
    ------
    InvalidInput
        It does not fit; all faults are named, each with its key.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise invalid(path, [_words(model, fault) for fault in error.errors()]) from error


def invalid(path: Path, faults: Sequence[str]) -> InvalidInput:
    """Return the error that names all faults of a file."""
    return InvalidInput("; ".join(faults), str(path))


def _words(model: type[Keys], fault: ErrorDetails) -> str:
    """Return one fault in words: where, what, what would do."""
    where = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        near = get_close_matches(str(fault["loc"][-1]), _known_keys(model, fault["loc"][:-1]), 1)
        hint = f": did you mean {near[0]}?" if near else ""
        return f"{where}: unknown key{hint}"
    if fault["type"] == "model_type":
        return f"{where}: must be a mapping of {', '.join(_known_keys(model, fault['loc']))}"
    message = fault["msg"].removeprefix("Value error, ").replace("Input should be", "must be")
    given = f", not {fault['input']!r}" if isinstance(fault["input"], str | int | float) else ""
    return f"{where}: {message[0].lower()}{message[1:]}{given}"


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
    return next((found for each in get_args(annotation) if (found := _section(each))), None)
