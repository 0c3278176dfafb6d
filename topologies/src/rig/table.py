"""A table in Redis that one task keeps filled and all can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import overload

from rig.store import Store, StoreDown

#: Rows that go over in one command.
CHUNK = 1000


class Table:
    """A hash of a Redis: field and value are texts.

    Parameters
    ----------
    address : str
        Redis's `host:port`.
    key : str
        Name of the hash.
    rows : int
        How many it has when it is full.
    """

    def __init__(self, address: str, key: str, rows: int) -> None:
        self._store = Store(address)
        self._key = key
        self._rows = rows

    def fill(self, rows: Mapping[str, str]) -> None:
        """Fill the table unless it is full; Redis may have lost it since."""
        with self._store.client() as client:
            if client.hlen(self._key) == self._rows:
                return
            items = iter(rows.items())
            while chunk := dict(islice(items, CHUNK)):
                client.hset(self._key, mapping=chunk)

    def values(self, fields: Sequence[str]) -> list[str | None]:
        """Return the values of some fields, None for those a full table lacks.

        Raises
        ------
        StoreDown
            Redis does not answer, or the table is not full.
        """
        with self._store.client() as client:
            # In one transaction: what is filled in between would pass for what a full table lacks.
            both = client.pipeline(transaction=True).hmget(self._key, fields).hlen(self._key)
            values: list[str | None]
            values, rows = both.execute()
            if None in values and rows < self._rows:
                raise StoreDown(f"Redis does not hold all of {self._key} yet")
            return values

    def write(self, rows: Mapping[str, int]) -> None:
        """Set some fields."""
        if rows:
            with self._store.client() as client:
                client.hset(self._key, mapping=dict(rows))


class TableRecords(Sequence[str]):
    """Records in a table, by number; those that follow in a task's share are read ahead.

    Parameters
    ----------
    table : Table
        Its fields are the numbers from 0.
    length : int
        How many there are.
    step : int
        How far apart the records of one task's share are.
    """

    def __init__(self, table: Table, length: int, step: int) -> None:
        self._table = table
        self._length = length
        self._step = step
        self._ahead: dict[int, str] = {}

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self[number] for number in range(self._length)[index]]
        if index not in self._ahead:
            numbers = range(index, self._length, self._step)[:100]
            values = self._table.values([str(number) for number in numbers])
            self._ahead = {n: v for n, v in zip(numbers, values, strict=True) if v is not None}
        return self._ahead[index]

    def __len__(self) -> int:
        return self._length
