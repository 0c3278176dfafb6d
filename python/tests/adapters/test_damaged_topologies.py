"""Stored topologies with damaged bytes: read, or refused in one line, and none hurts others."""

from __future__ import annotations

import gzip
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stormcut.adapters.storm.stored_topologies import find_topologies, import_storm
from stormcut.model.errors import InvalidInput
from stormcut.model.problem import Node

REAL = Path(__file__).parents[1] / "data" / "storm-topology"
CODE = (REAL / "TopologyName00023-stormcode.ser").read_bytes()
PLAIN = gzip.decompress(CODE) if CODE.startswith(b"\x1f\x8b") else CODE
NODES = (Node("n", (6700,)),)
#: Of reading what a machine can hold, however busy it is.
SOON_S = 20.0

DAMAGES = st.lists(
    st.tuples(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=8)),
    min_size=1,
    max_size=4,
)


def damaged(content: bytes, damages: list[tuple[float, bytes]]) -> bytes:
    found = bytearray(content)
    for share, new in damages:
        at = int(share * len(found))
        found[at : at + len(new)] = new
    return bytes(found)


@given(DAMAGES, st.booleans())
def test_a_damaged_topology_is_read_or_left_out(
    damages: list[tuple[float, bytes]], is_packed: bool
) -> None:
    content = damaged(PLAIN, damages)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in REAL.glob("*.ser"):
            shutil.copy(file, folder / file.name.replace("00023", "1-1-1700000000"))
            shutil.copy(file, folder / file.name.replace("00023", "2-1-1700000000"))
        broken = folder / "TopologyName2-1-1700000000-stormcode.ser"
        broken.write_bytes(gzip.compress(content) if is_packed else content)
        began = time.monotonic()
        found = import_storm(find_topologies([folder]), NODES)
        assert time.monotonic() - began < SOON_S
        assert found.problem.topologies
        assert all("\n" not in note for note in found.notes)


@given(st.binary(max_size=200))
def test_bytes_that_are_no_topology_are_refused_in_one_line(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "x-1-1700000000-stormcode.ser").write_bytes(content)
        (folder / "x-1-1700000000-stormconf.ser").write_bytes(b"{}")
        with pytest.raises(InvalidInput) as error:
            import_storm(find_topologies([folder]), NODES)
        assert "\n" not in str(error.value)
