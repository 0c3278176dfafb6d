"""The compiled loops: there after set-up, nothing compiled later, no index out of bounds."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from stormcut.native import library
from stormcut.placement.algorithms.cut.model import shared

PACKAGE = Path(library.__file__).parent
SOURCES = PACKAGE.parent
CHECKOUT = SOURCES.parents[1]

#: Places small problems in every way that reaches a loop; prints what was imported.
EVERY_LOOP = """
import json, sys, time
from dataclasses import replace
import numpy as np
from stormcut.model.placement import Placement
from stormcut.model.problem import Component, MeasuredPair, Node, Problem, Stream, Topology
from stormcut.placement.algorithms.caps import place as caps
from stormcut.placement.algorithms.cut.construction import constructed
from stormcut.placement.algorithms.cut.loops import ejected
from stormcut.placement.algorithms.cut.instance import instance
from stormcut.placement.algorithms.cut.model import model_of
from stormcut.placement.algorithms.cut.options import Options
from stormcut.placement.algorithms.cut.place import place
from stormcut.placement.algorithms.cut.least_traffic import replan

def problem(racks, sized):
    parts = (Component.uniform("a", 6, "spout"), Component.uniform("b", 7, cpu_percent=30.0))
    size = 90.0 if sized else None
    pairs = tuple(MeasuredPair(("a", i), ("b", j), 5.0 + i, size) for i in range(6) for j in (i, 6))
    first = Topology("first", parts, (Stream("a", "b", 100.0),))
    other = replace(first, id="other", measured=pairs)
    nodes = tuple(Node(f"n{i}", (1, 2), f"r{i % racks}", 250.0, 4096.0, 12) for i in range(4))
    return Problem(nodes, (first, other))

def running(asked):
    slots = 2 * (np.arange(asked.executor_count) % 4) + asked.executor_topology
    slots[:2] = -1
    return replace(asked, current=Placement(slots))

for racks in (1, 2):
    for sized in (False, True):
        new = problem(racks, sized)
        for asked in (new, running(new)):
            for options in ({}, {"objective": "headroom"}, {"restart_price": 1.0}):
                place(asked, np.random.default_rng(1), Options(**options))
        seed = np.random.default_rng(1)
        caps.place(new, seed, caps.Options())
        whole = instance(running(new), Options())
        constructed(whole, seed)
        replan(whole, (1.0, 0.01, 1.0), seed)
        tight = replace(whole, limits=whole.limits * 0.9)
        model = model_of(tight, (1.0, 0.0, 0.0))
        ejected(model, 0 * whole.start, np.array([7], dtype=np.uint64))
print(json.dumps(sorted(sys.modules)))
"""


def _run(environment=None):
    command = [sys.executable, "-c", EVERY_LOOP]
    run = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **(environment or {})}
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.slow
def test_nothing_is_compiled_once_set_up(tmp_path):
    before = {path: path.stat().st_mtime_ns for path in PACKAGE.glob("_library*")}
    # No compiler can be found, nor a cache be written by one that is part of a package.
    (tmp_path / "bin").mkdir()
    modules = _run({"PATH": str(tmp_path / "bin"), "CC": "/nonexistent"})
    assert before
    assert {path: path.stat().st_mtime_ns for path in PACKAGE.glob("_library*")} == before
    assert "stormcut.placement.algorithms.cut.loops" in modules
    assert not {"numba", "llvmlite", "cffi", "setuptools", "distutils"} & set(modules)


def test_every_source_is_in_the_library():
    extension = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["tool"]["setuptools"]
    (declared,) = extension["ext-modules"]
    for key, suffix in (("sources", "*.cpp"), ("depends", "*.h")):
        files = {str(path.relative_to(CHECKOUT)) for path in SOURCES.rglob(suffix)}
        assert set(declared[key]) == files


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros((2, 2), dtype=np.int32),
        np.zeros((2, 2)),
        np.zeros(4, dtype=np.int64),
        np.zeros((2, 4), dtype=np.int64)[:, ::2],
    ],
)
def test_an_array_of_another_form_is_refused(wrong):
    right = np.zeros((2, 2), dtype=np.int64)
    with pytest.raises(Exception, match="expected a contiguous array of int64 with 2 axes"):
        shared(right, wrong)


@pytest.mark.slow
@pytest.mark.full
def test_no_index_is_out_of_bounds(tmp_path):
    """The same loops, compiled with assertions on every index and the sanitizers' checks."""
    sources = sorted(map(str, SOURCES.rglob("*.cpp")))
    checked = tmp_path / "checked.so"
    flags = ["-std=c++17", "-O1", "-g", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    flags += ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    subprocess.run(["c++", *flags, "-o", str(checked), *sources], check=True)
    runtimes = [_runtime(name) for name in ("libasan.so", "libubsan.so", "libstdc++.so")]
    _run(
        {
            "STORMCUT_LIBRARY": str(checked),
            "LD_PRELOAD": ":".join(runtimes),
            "ASAN_OPTIONS": "detect_leaks=0",
        }
    )


def _runtime(name):
    shown = subprocess.run(["c++", f"-print-file-name={name}"], capture_output=True, text=True)
    return shown.stdout.strip()
