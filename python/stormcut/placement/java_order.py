"""The iteration orders of Java's and Clojure's hash collections, on which Storm's scheduler rests.

`HashMap` and `HashSet` are those of Java 8 to 17, the persistent map that of Clojure 1.7. A bucket
that Java has turned into a tree (nine colliding keys in a table of 64 or more) keeps its order of
insertion here, which Java does not promise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

Key = TypeVar("Key")

TREEIFY_THRESHOLD = 8
MIN_TREEIFY_CAPACITY = 64
DEFAULT_CAPACITY = 16
#: Entries up to which Clojure's transient map is an array in order of insertion.
CLOJURE_ARRAY_MAP_ENTRIES = 8

_MASK = 0xFFFFFFFF


def string_hash(text: str) -> int:
    """Return Java's ``String.hashCode`` as an unsigned 32-bit number."""
    result = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        result = (31 * result + (high << 8 | low)) & _MASK
    return result


def hash_map_order(keys: Iterable[str]) -> list[str]:
    """Return the order of ``new HashMap<>(n)`` after ``putAll`` of n keys in the order given."""
    keys = list(keys)
    if not keys:
        return []
    capacity = 1 << (len(keys) * 4 // 3).bit_length()
    return _bucket_order([(string_hash(key), key) for key in keys], capacity)


def hash_set_order(ports: Iterable[int]) -> list[int]:
    """Return the order of ``new HashSet<Integer>()`` after adding numbers in the order given."""
    return _bucket_order([(port & _MASK, port) for port in ports], DEFAULT_CAPACITY)


def clojure_map_order(keys: Iterable[str]) -> list[str]:
    """Return the order of a Clojure map made by ``group-by``, keys in order of first sight."""
    keys = list(dict.fromkeys(keys))
    if len(keys) <= CLOJURE_ARRAY_MAP_ENTRIES:
        return keys
    return sorted(keys, key=lambda key: _trie_path(_murmur3(string_hash(key))))


def _bucket_order(hashed: list[tuple[int, Key]], capacity: int) -> list[Key]:
    """Insert keys one by one as `java.util.HashMap.putVal` does, then read the table."""
    spread = [(code ^ code >> 16, key) for code, key in hashed]
    chains: dict[int, int] = {}
    for size, (code, _) in enumerate(spread, start=1):
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
            for other, _ in spread[:size]:
                at = other & capacity - 1
                chains[at] = chains.get(at, 0) + 1
    return [key for _, key in sorted(spread, key=lambda item: item[0] & capacity - 1)]


def _trie_path(code: int) -> tuple[int, ...]:
    """Return the branches, five bits each from the lowest, that a hash takes in Clojure's trie."""
    return tuple(code >> shift & 31 for shift in range(0, 32, 5))


def _murmur3(number: int) -> int:
    """Return Clojure's ``Murmur3.hashInt``, unsigned."""
    if number == 0:
        return 0
    mixed = number * 0xCC9E2D51 & _MASK
    mixed = _rotate_left(mixed, 15) * 0x1B873593 & _MASK
    result = (_rotate_left(mixed, 13) * 5 + 0xE6546B64) & _MASK
    result ^= 4
    result = (result ^ result >> 16) * 0x85EBCA6B & _MASK
    result = (result ^ result >> 13) * 0xC2B2AE35 & _MASK
    return result ^ result >> 16


def _rotate_left(number: int, bits: int) -> int:
    return (number << bits | number >> 32 - bits) & _MASK
