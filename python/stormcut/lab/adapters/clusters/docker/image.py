"""The image of all daemons: what goes into it, and making it when that has changed."""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import IO, cast

from docker.errors import APIError, BuildError, ImageNotFound
from packaging.requirements import Requirement

from stormcut.adapters.machine import storm_jars
from stormcut.adapters.machine.home import shipped, storm_java, storm_lib
from stormcut.lab.adapters.clusters.docker.engine import Engine, reason
from stormcut.model.errors import InvalidInput, StormcutError

IMAGE = "stormcut-storm:1.2.4"
BASE = "stormcut-base:bookworm"

#: In the image, for `sparse submit`: what starts the components of a topology.
VIRTUALENV = Path("/opt/stormcut/venv")

_CONTENT_LABEL = "stormcut.content"

#: Distributions that the topologies' components import, with all these require.
_FOR_COMPONENTS = ("streamparse", "redis")

#: The image's Python, Debian 12's: what it needs can differ from what this one needs.
_PYTHON = {"python_version": "3.11", "python_full_version": "3.11.2"}

#: What streamparse starts a component with; that of the host names the host's Python.
_STREAMPARSE_RUN = """#!/usr/bin/python3
from streamparse.run import main

main()
"""


@dataclass(frozen=True)
class _ContextPart:
    """A file or folder and its place in the build context."""

    place: str
    source: Path


def docker_folder() -> Path:
    """Return the folder of what the image is made from."""
    return shipped("docker")


def ensure(client: Engine, progress: Callable[[str], None]) -> None:
    """Make the image unless the one there was made from the same parts.

    Raises
    ------
    InvalidInput
        Java or Storm is missing, or there is no way to a base image.
    StormcutError
        The build fails; the text says why.
    """
    storm_jars.ensure(progress)
    parts = tuple(_parts())
    content = _hash(parts)
    old = next(iter(client.images.list(IMAGE)), None)
    if old and old.labels.get(_CONTENT_LABEL) == content:
        return
    _ensure_base(client, progress)
    progress("building the image")
    with tempfile.TemporaryFile() as context:
        _pack(parts, context)
        context.seek(0)
        _build(client, context, IMAGE, "Dockerfile", {_CONTENT_LABEL: content})
    if old:
        # It has lost its name to the new one; a cluster that runs may still be made from it.
        with suppress(APIError):
            client.images.remove(str(old.id))


def remove(client: Engine) -> list[str]:
    """Remove image and base image; return the names of those there were."""
    removed = []
    for name in (IMAGE, BASE):
        try:
            client.images.remove(name, force=True)
            removed.append(name)
        except ImageNotFound:
            continue
    return removed


def _ensure_base(client: Engine, progress: Callable[[str], None]) -> None:
    try:
        client.images.get(BASE)
        return
    except ImageNotFound:
        progress("fetching Debian")
    try:
        with tempfile.TemporaryFile() as context:
            _pack([_ContextPart("Dockerfile", docker_folder() / "base.Dockerfile")], context)
            context.seek(0)
            _build(client, context, BASE, "Dockerfile", {})
    except StormcutError as refused:
        progress("no image registry: making the base with debootstrap")
        _debootstrap(refused)


def _debootstrap(refused: StormcutError) -> None:
    command = ["bash", str(docker_folder() / "base-image"), BASE]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise InvalidInput(
            f"no registry is reachable ({refused}), and making it here failed: "
            f"{done.stderr.strip()}",
            BASE,
        )


def _build(client: Engine, context: IO[bytes], tag: str, file: str, labels: dict[str, str]) -> None:
    try:
        client.images.build(
            fileobj=context,
            custom_context=True,
            dockerfile=file,
            tag=tag,
            labels=labels,
            buildargs={"BASE": BASE},
            rm=True,
            forcerm=True,
        )
    except BuildError as error:
        raise StormcutError(f"image {tag} was not built: {error.msg}") from error
    except APIError as error:
        raise StormcutError(f"image {tag} was not built: {reason(error)}") from error


def _parts() -> Iterator[_ContextPart]:
    folder = docker_folder()
    for name in ("Dockerfile", "entrypoint", "limits", "storm.yaml"):
        yield _ContextPart(name, folder / name)
    yield _ContextPart("java", storm_java())
    yield _ContextPart("lib", storm_lib())
    logging = resources.files("stormcut.lab.adapters.clusters.local")
    for name in ("cluster.xml", "worker.xml"):
        yield _ContextPart(f"log4j2/{name}", cast(Path, logging.joinpath(name)))
    for name in sorted(_required(_FOR_COMPONENTS)):
        distribution = importlib.metadata.distribution(name)
        for file in distribution.files or ():
            if ".." not in file.parts and file.suffix != ".pyc":
                yield _ContextPart(f"python/{file}", Path(str(distribution.locate_file(file))))


def _required(names: tuple[str, ...]) -> set[str]:
    """Return distributions with all that they require in the image, without extras."""
    required: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop().lower().replace("_", "-")
        if name in required:
            continue
        required.add(name)
        requirements = map(Requirement, importlib.metadata.requires(name) or ())
        waiting += [
            each.name
            for each in requirements
            if not each.marker or each.marker.evaluate({**_PYTHON, "extra": ""})
        ]
    return required


def _hash(parts: tuple[_ContextPart, ...]) -> str:
    """Return a hash of small files' contents and of large ones' names and sizes."""
    digest = hashlib.sha256(_STREAMPARSE_RUN.encode())
    for part in parts:
        if part.source.is_dir():
            for folder, _, files in sorted(os.walk(part.source)):
                sizes = [(name, (Path(folder) / name).stat().st_size) for name in sorted(files)]
                digest.update(repr((part.place, sizes)).encode())
        elif part.place.startswith("python/"):
            digest.update(part.place.encode())
        else:
            digest.update(part.place.encode() + part.source.read_bytes())
    return digest.hexdigest()


def _pack(parts: tuple[_ContextPart, ...] | list[_ContextPart], context: IO[bytes]) -> None:
    # Followed links: what they point to lies outside the context.
    with tarfile.open(fileobj=context, mode="w", dereference=True) as archive:
        for part in parts:
            if part.source.exists():
                archive.add(part.source, part.place)
        script = tarfile.TarInfo("streamparse_run")
        script.size, script.mode = len(_STREAMPARSE_RUN), 0o755
        archive.addfile(script, io.BytesIO(_STREAMPARSE_RUN.encode()))
