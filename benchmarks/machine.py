"""What a page of results says of the machine and the command that made it."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import psutil

from stormcut.adapters.machine.home import commit
from stormcut.adapters.machine.needs import command_line


def made_by(*packages: str) -> str:
    """Return one paragraph: command, machine, versions of Python and packages, commit."""
    memory = psutil.virtual_memory().total / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    module = sys.modules["__main__"].__spec__
    arguments = sys.argv if module is None else ["-m", module.name, *sys.argv[1:]]
    command = command_line(".stormcut/venv/bin/python", arguments)
    return (
        f"Made by `{command}` on {os.cpu_count()} cores "
        f"({_processor()}), {memory:.0f} GiB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}{', ' if versions else ''}{versions}; "
        f"commit {commit() or 'unknown'}."
    )


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
