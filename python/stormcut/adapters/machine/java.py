"""Which Javas are installed, and of which release."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

#: Where Debian and others put them.
JVMS = Path("/usr/lib/jvm")


def installed() -> Iterator[Path]:
    """Yield the home of every Java: JAVA_HOME's, the PATH's, then `JVMS`, older releases first."""
    if named := os.environ.get("JAVA_HOME"):
        yield Path(named)
    if program := shutil.which("java"):
        yield Path(program).resolve().parent.parent
    homes = [home for home in JVMS.glob("*") if home.is_dir() and not home.is_symlink()]
    yield from sorted(homes, key=lambda home: (release(home) or 0, home.name))


def release(home: Path) -> int | None:
    """Return the feature release of a Java home (8 for 1.8, 11, 17...), None if none runs there.

    Its ``release`` file is believed; without one, ``java -version`` is asked.
    """
    if not (home / "bin" / "java").is_file():
        return None
    try:
        shown = (home / "release").read_text(encoding="utf-8")
    except OSError:
        shown = _asked(home / "bin" / "java")
    number = re.search(r'(?:JAVA_VERSION=| version )"(?:1\.)?(\d+)', shown)
    return int(number[1]) if number else None


def _asked(java: Path) -> str:
    try:
        run = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stderr if run.returncode == 0 else ""
