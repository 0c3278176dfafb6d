"""The iteration orders of Java's and Clojure's hash collections, on which Storm's scheduler rests.

`HashMap` and `HashSet` are those of Java 8 to 17, the persistent map that of Clojure 1.7. A bucket
that Java has turned into a tree (nine colliding keys in a table of 64 or more) keeps its order of
insertion here, which Java does not promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

#: What a Clojure map may have as a key here; a tuple stands for a vector.
ClojureKey = str | int | tuple[str | int, ...]
Key = TypeVar("Key", bound=ClojureKey)
Item = TypeVar("Item")

TREEIFY_THRESHOLD = 8
MIN_TREEIFY_CAPACITY = 64
DEFAULT_CAPACITY = 16
#: Entries up to which Clojure's maps are an array in order of insertion: those made by ``into`` or
#: ``group-by`` (by way of a transient map), and those made by ``assoc`` alone.
TRANSIENT_ARRAY_ENTRIES = 8
ASSOC_ARRAY_ENTRIES = 9

_MASK = 0xFFFFFFFF


def string_hash(text: str) -> int:
    """Return Java's ``String.hashCode`` as an unsigned 32-bit number."""
    result = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        result = (31 * result + (high << 8 | low)) & _MASK
    return result


def sort_key(text: str) -> bytes:
    """Return what orders strings as Java's ``String.compareTo`` does."""
    return text.encode("utf-16-be", "surrogatepass")


def slot_hash(node: str, port: int) -> int:
    """Return the hash of Storm's ``WorkerSlot``."""
    return (string_hash(node) + 13 * port) & _MASK


def copied_capacity(count: int) -> int:
    """Return the capacity of a ``HashMap`` into which ``putAll`` has put that many keys at once."""
    return 1 << (count * 4 // 3).bit_length()


def hash_map_order(keys: Iterable[str]) -> list[str]:
    """Return the order of ``new HashMap<>(n)`` after ``putAll`` of n keys in the order given."""
    keys = list(keys)
    return string_map_order(keys, copied_capacity(len(keys)))


def string_map_order(keys: Iterable[str], capacity: int = DEFAULT_CAPACITY) -> list[str]:
    """Return the order of a hash table of strings that were put in the order given."""
    keys = list(keys)
    return bucket_order(keys, map(string_hash, keys), capacity)


def hash_set_order(ports: Iterable[int]) -> list[int]:
    """Return the order of ``new HashSet<Integer>()`` after adding numbers in the order given."""
    ports = list(ports)
    return bucket_order(ports, (port & _MASK for port in ports))


def executor_map_order(tasks: Iterable[int], capacity: int = DEFAULT_CAPACITY) -> list[int]:
    """Return the order of a hash table of Storm's ``ExecutorDetails``, executors of one task each.

    ``tasks`` are in the order in which they were put.
    """
    tasks = list(tasks)
    return bucket_order(tasks, (14 * task & _MASK for task in tasks), capacity)


def clojure_map_order(
    keys: Iterable[Key], array_entries: int = TRANSIENT_ARRAY_ENTRIES
) -> list[Key]:
    """Return the order of a Clojure map that grew key by key, keys in order of first sight."""
    keys = list(dict.fromkeys(keys))
    if len(keys) <= array_entries:
        return keys
    return sorted(keys, key=lambda key: _trie_path(_clojure_hash(key)))


def bucket_order(
    keys: Sequence[Item], codes: Iterable[int], capacity: int = DEFAULT_CAPACITY
) -> list[Item]:
    """Return keys in the order of a hash table into which they were put in the order given.

    Parameters
    ----------
    codes : iterable of int
        ``hashCode`` of each key, unsigned.
    capacity : int
        Capacity of the empty table, a power of two; it grows as `java.util.HashMap.putVal` does.
    """
    spread = [code ^ code >> 16 for code in codes]
    chains: dict[int, int] = {}
    for size, code in enumerate(spread, start=1):
        bucket = code & capacity - 1
        chains[bucket] = chains.get(bucket, 0) + 1
        grown = capacity
        if chains[bucket] > TREEIFY_THRESHOLD and capacity < MIN_TREEIFY_CAPACITY:
            grown *= 2
        if size > grown * 3 // 4:
            grown *= 2
        if grown != capacity:
            capacity = grown
            chains = {}
            for other in spread[:size]:
                home = other & capacity - 1
                chains[home] = chains.get(home, 0) + 1
    order = sorted(range(len(spread)), key=lambda index: spread[index] & capacity - 1)
    return [keys[index] for index in order]


def _trie_path(code: int) -> tuple[int, ...]:
    """Return the branches, five bits each from the lowest, that a hash takes in Clojure's trie."""
    return tuple(code >> shift & 31 for shift in range(0, 32, 5))


def _clojure_hash(key: ClojureKey) -> int:
    """Return Clojure's ``hasheq``, unsigned."""
    if isinstance(key, str):
        code = string_hash(key)
        return _finish(_mix(0, code), 4) if code else 0
    if isinstance(key, int):
        low, high = key & _MASK, key >> 32 & _MASK
        return _finish(_mix(_mix(0, low), high), 8) if key else 0
    code = 1
    for item in key:
        code = (31 * code + _clojure_hash(item)) & _MASK
    return _finish(_mix(0, code), len(key))


def _mix(result: int, number: int) -> int:
    """Return a Murmur3 hash with 32 more bits mixed in."""
    mixed = number * 0xCC9E2D51 & _MASK
    mixed = _rotate_left(mixed, 15) * 0x1B873593 & _MASK
    return (_rotate_left(result ^ mixed, 13) * 5 + 0xE6546B64) & _MASK


def _finish(result: int, length: int) -> int:
    """Return the Murmur3 hash of ``length`` bytes or items whose mix is given."""
    result ^= length
    result = (result ^ result >> 16) * 0x85EBCA6B & _MASK
    result = (result ^ result >> 13) * 0xC2B2AE35 & _MASK
    return result ^ result >> 16


def _rotate_left(number: int, bits: int) -> int:
    return (number << bits | number >> 32 - bits) & _MASK
