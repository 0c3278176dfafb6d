"""Reads and writes ``stormcut-costs/1``: what transfer costs on a cluster, as it was fitted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from stormcut.adapters.files.json_document import read_json, write_text
from stormcut.adapters.files.problem_file import check_format, costs_document, costs_of, within
from stormcut.model.errors import InvalidInput
from stormcut.model.network import Costs

FORMAT = "stormcut-costs/1"


def write_costs(
    path: Path,
    costs: Costs,
    intervals: Mapping[str, tuple[float, float]],
    facts: Mapping[str, str],
) -> None:
    """Write fitted costs, whole or not at all.

    Parameters
    ----------
    intervals : mapping of str to (float, float)
        Lowest and highest value of each cost, by its key.
    facts : mapping of str to str
        Machine, day and data.

    Raises
    ------
    InvalidInput
        It cannot be written there.
    """
    document = {
        "format": FORMAT,
        "costs": costs_document(costs),
        "intervals": {key: list(each) for key, each in intervals.items()},
        "facts": dict(facts),
    }
    write_text(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def read_costs(path: Path) -> Costs:
    """Read fitted costs.

    Raises
    ------
    InvalidInput
        It cannot be read or is no such file; names file and place.
    """
    root = read_json(path)
    try:
        check_format(root, FORMAT)
        keys = root.keys(("format", "costs"), ("intervals", "facts"))
        return costs_of(keys["costs"], str(path))
    except InvalidInput as error:
        raise within(path, error) from None
