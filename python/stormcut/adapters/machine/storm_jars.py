"""Storm 1.2.4 by its Maven coordinates, into `home`, every jar compared with its checksum."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from stormcut.adapters.machine.home import home, shipped
from stormcut.model.errors import InvalidInput, StormcutError

_OR_ELSE = "or set STORMCUT_STORM_LIB to the lib folder of a Storm 1.2.4"


def ensure(progress: Callable[[str], None]) -> None:
    """Fetch Storm's jars with Maven unless they are there or ``STORMCUT_STORM_LIB`` is set.

    Raises
    ------
    InvalidInput
        There is no Maven.
    StormcutError
        Maven fails, or a jar is not the one that was released; nothing is left behind.
    """
    lib = home() / "storm" / "lib"
    if os.environ.get("STORMCUT_STORM_LIB") or any(lib.glob("storm-core-*.jar")):
        return
    maven = shutil.which("mvn")
    if maven is None:
        raise InvalidInput(f"not on the PATH; it fetches Storm: install Maven, {_OR_ELSE}", "mvn")
    progress(f"fetching Storm 1.2.4 with Maven, once, into {lib}")
    lib.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="lib-", dir=lib.parent) as scratch:
        fetched = Path(scratch) / "lib"
        _copy_dependencies(maven, fetched)
        if damaged := mismatch(fetched):
            raise StormcutError(
                f"{damaged}: remove it from Maven's local repository and repeat, {_OR_ELSE}"
            )
        shutil.rmtree(lib, ignore_errors=True)
        fetched.rename(lib)


def mismatch(lib: Path) -> str | None:
    """Return which of Storm's jars is missing or differs from the released one, None if all fit."""
    for line in (shipped("scripts/storm-home") / "sha256sums").read_text().splitlines():
        digest, name = line.split()
        jar = lib / name
        if not jar.is_file():
            return f"{jar} is missing"
        if hashlib.sha256(jar.read_bytes()).hexdigest() != digest:
            return f"{jar} is damaged"
    return None


def _copy_dependencies(maven: str, target: Path) -> None:
    pom = shipped("scripts/storm-home") / "pom.xml"
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={target}"]
    done = subprocess.run(
        [maven, "-B", "-q", "-f", str(pom), *goal], capture_output=True, text=True
    )
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip().splitlines() or ["it says nothing"]
        raise StormcutError(f"Maven did not fetch Storm ({said[0]}): repeat, {_OR_ELSE}")


if __name__ == "__main__":
    ensure(lambda text: print(text, file=sys.stderr))
