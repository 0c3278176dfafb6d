"""The five tasks, and the sink: each adds to a record's sum what its work yields."""

from __future__ import annotations

import http.client
import math
import os
import socket
import tempfile
import time
import xml.sax
from collections.abc import Mapping
from typing import Any, ClassVar

from rig.bolt import CountedBolt
from rig.store import Store, StoreDown

DOCUMENTS = 64
FACTORS = 15
OBJECTS = 16
TIMEOUT_S = 20.0
TABLE, FILLING = "model-driven", "model-driven-is-filled"
COLUMNS, COLUMN = 20, 3
CHUNK = 1000
#: A task that fills the table has so long until another does.
PATIENCE_S = 60


class Task(CountedBolt):
    """Adds to a record's sum what its work yields."""

    outputs: ClassVar = ["sum", "number"]

    def work(self, number: int) -> int:
        """Do the work for the record of a number."""
        raise NotImplementedError

    def handle(self, total: int, number: int) -> None:
        """Pass the record on."""
        self.emit([total + self.work(number), number])


class XmlParse(Task):
    """Parses one of some XML documents in memory; yields the sum of their amounts."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Make the documents."""
        self._documents = [document(k, conf["rig.xml.orders"]) for k in range(DOCUMENTS)]

    def work(self, number: int) -> int:
        """Return the sum of a document's amounts."""
        amounts = _Amounts()
        xml.sax.parseString(self._documents[number % DOCUMENTS], amounts)
        return amounts.total


class _Amounts(xml.sax.ContentHandler):
    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def startElement(self, name: str, attrs: Mapping[str, str]) -> None:  # noqa: N802
        if name == "order":
            self.total += int(attrs["amount"])


def document(number: int, orders: int) -> str:
    """Return a document with so many orders."""
    each = (
        f'<order id="{at}" amount="{(number * 31 + at * 7) % 100}">'
        "<item>an item of this order</item></order>"
        for at in range(orders)
    )
    return f"<orders>{''.join(each)}</orders>"


class Pi(Task):
    """Computes pi by 15 factors of Viete's product, some times over; yields its first digits."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Read how many times."""
        self._repeats = conf["rig.pi.repeats"]

    def work(self, number: int) -> int:
        """Return 3141."""
        pi = 0.0
        for repeat in range(self._repeats):
            root, product = repeat * 1e-12, 1.0
            for _ in range(FACTORS):
                root = math.sqrt(2 + root)
                product *= root / 2
            pi = 2 / product
        return int(1000 * pi)


class BatchedWrite(Task):
    """Keeps a line of 100 bytes for each record, writes so many at a time; yields the bytes."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Open a file without a name: it is gone with the process, however that ends."""
        self._batch = conf["rig.file.batch"]
        self._lines: list[str] = []
        self._file = tempfile.TemporaryFile()  # noqa: SIM115

    def work(self, number: int) -> int:
        """Return the bytes of a line."""
        line = f"{number:099d}\n"
        self._lines.append(line)
        if len(self._lines) >= self._batch:
            self._file.seek(0)
            self._file.write("".join(self._lines).encode())
            self._file.flush()
            os.fdatasync(self._file.fileno())
            self._lines.clear()
        return len(line)


class BlobDownload(Task):
    """Reads an object of an HTTP server into memory; yields its size."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Name the server, and this worker to it."""
        self._server = conf["rig.blobs"]
        self._bytes = conf["rig.blob.bytes"]
        self._query = (
            f"delay_ms={conf['rig.blob.delay.ms']}&per_second={conf['rig.blob.per.second']}"
        )
        # What the server serves a second is limited for each worker: this process's parent.
        self._headers = {"X-Client": f"{os.getppid()}@{socket.gethostname()}"}
        self._connection: http.client.HTTPConnection | None = None

    def work(self, number: int) -> int:
        """Return the size of an object."""
        object_ = number % OBJECTS
        address = f"/{object_}?bytes={self._bytes + object_}&{self._query}"
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection(self._server, timeout=TIMEOUT_S)
            self._connection.request("GET", address, headers=self._headers)
            return len(self._connection.getresponse().read())
        except (OSError, http.client.HTTPException) as error:
            self._connection = None
            raise StoreDown(f"no object from {self._server}: {error!r}") from error


class TableQuery(Task):
    """Looks a row up by its key in a table in Redis; yields one of its columns."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Name the server."""
        self._store = Store(conf["rig.redis"])
        self._rows = conf["rig.table.rows"]
        self._delay_s = conf["rig.table.delay.ms"] / 1000

    def work(self, number: int) -> int:
        """Return a column of a row."""
        time.sleep(self._delay_s)
        key = str(number * 7919 % self._rows)
        with self._store.client() as client:
            row = client.hget(TABLE, key)
            # One task fills the table, at the first query; the others find no row until then.
            if row is None and client.set(FILLING, "", nx=True, ex=PATIENCE_S):
                self._fill(client)
                row = client.hget(TABLE, key)
        if row is None:
            raise StoreDown(f"Redis does not hold all of {TABLE} yet")
        return int(row.split(";")[COLUMN])

    def _fill(self, client: Any) -> None:
        for begin in range(0, self._rows, CHUNK):
            numbers = range(begin, min(self._rows, begin + CHUNK))
            client.hset(TABLE, mapping={str(number): row(number) for number in numbers})


def row(number: int) -> str:
    """Return a row of the table: columns of nine digits."""
    return ";".join(f"{(number * 17 + column * 13) % 1000:09d}" for column in range(COLUMNS))


class Total(CountedBolt):
    """Counts records and adds up their sums."""

    def prepare(self, conf: Mapping[str, Any]) -> None:
        """Start at 0."""
        self._count = self._sum = 0

    def handle(self, total: int, number: int) -> None:
        """Count one record."""
        self._count += 1
        self._sum += total

    def answer(self) -> list[int]:
        """Return records and the sum of their sums."""
        return [self._count, self._sum]
