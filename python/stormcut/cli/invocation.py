"""What to type for `stormcut` in a shell like the user's, for hints that can be copied."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def command() -> str:
    """Return what runs this very installation: ``stormcut`` where PATH finds it, else its path.

    The path is relative if it lies below the current folder, and quoted for a shell.
    """
    script = Path(sys.prefix) / "bin" / "stormcut"
    on_path = shutil.which("stormcut")
    if on_path and script.exists() and Path(on_path).samefile(script):
        return "stormcut"
    if not script.exists():
        return f"{shlex.quote(sys.executable)} -m stormcut.cli.main"
    here = Path.cwd()
    shown = script.relative_to(here) if script.is_relative_to(here) else script
    return shlex.quote(str(shown))
