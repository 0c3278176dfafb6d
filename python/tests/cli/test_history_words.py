"""What `stormcut history` says of who ordered a change."""

from stormcut.cli.history import _ordered

LINE = {"initiator": "approve", "who": "anna@ops1", "override": None, "passed": []}


def test_who_ordered_a_change_and_why_guards_were_passed_is_told():
    assert _ordered(LINE) == "by anna@ops1 (approve): "
    past = LINE | {"override": "agreed", "passed": ["pinned", "quiet"]}
    assert _ordered(past) == "by anna@ops1 (approve, past pinned, quiet: agreed): "
    assert _ordered(LINE | {"who": ""}) == ""
    # What an older stormcut wrote.
    assert _ordered({"initiator": None}) == ""
