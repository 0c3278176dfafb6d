"""What benchmarks have measured: a folder while it grows, then an archive.

python -m benchmarks.raw_data FOLDER...   keeps each as benchmarks/data/<its name>.zip
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import CHECKOUT

DATA = CHECKOUT / "benchmarks" / "data"


@contextmanager
def open_data(data: Path) -> Iterator[Path]:
    """Yield a folder, or what an archive holds as one for the length of the block."""
    if data.suffix != ".zip":
        yield data
        return
    with TemporaryDirectory(prefix="stormcut-data-") as name, zipfile.ZipFile(data) as packed:
        packed.extractall(name)
        yield Path(name)


def keep(folder: Path) -> Path:
    """Pack a folder into the archive of its name, and return that."""
    archive = DATA / f"{folder.name}.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                # The same bytes whenever it is packed.
                info = zipfile.ZipInfo(str(path.relative_to(folder)))
                info.compress_type = zipfile.ZIP_DEFLATED
                packed.writestr(info, path.read_bytes())
    return archive


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(keep(Path(each)))
