"""What is foreseen rests on what Nimbus described: not if that is of the past."""

import time

import pytest

from stormcut.cli.foresight import STALE_SECONDS, check_fresh
from stormcut.model.errors import InvalidInput


def test_a_preview_from_a_description_of_the_past_is_refused():
    now_ms = int(time.time() * 1000)
    check_fresh({"described_ms": now_ms})
    with pytest.raises(InvalidInput, match=r"described the cluster .* s ago, and since then no"):
        check_fresh({"described_ms": now_ms - int(STALE_SECONDS * 1000) - 5000})
