"""docs/security.md names a test for each claim: every one of them is there."""

import re
from pathlib import Path

from stormcut.adapters.machine.home import checkout

ROOT = checkout() or Path()


def test_every_test_that_is_named_exists():
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    table = page.partition("| proved by |")[2].partition("\n\n")[0]
    proofs = [row.split("|")[4] for row in table.splitlines()[2:]]
    sources = [
        each.read_text(encoding="utf-8")
        for folder, kind in (("python/tests", "test_*.py"), ("storm-plugin", "*Test.java"))
        for each in (ROOT / folder).rglob(kind)
    ]
    code = "\n".join(sources)
    assert len(proofs) > 10
    for proof in proofs:
        names = re.findall(r"`(\w+)`", proof)
        assert names, proof
        for name in names:
            assert re.search(rf"(def|void|class) {name}\b", code), name
