"""One process at a time holds a mark."""

import fcntl
import os

from stormcut.adapters.machine.sole_use import MARK, taken


def test_a_mark_is_held_once_and_again_after_that(tmp_path):
    held = taken(tmp_path / MARK)
    assert taken(tmp_path / MARK) is None
    held.close()
    taken(tmp_path / MARK).close()


def test_a_held_mark_lets_its_disk_be_made_read_only(tmp_path):
    with taken(tmp_path / MARK) as held:
        assert fcntl.fcntl(held, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
