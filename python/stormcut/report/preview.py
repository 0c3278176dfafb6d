"""What would follow from a change, as the brain foresees it (docs/brain.md), for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

Line = Mapping[str, Any]

#: Metric, what it is called, and how it is written.
_ROWS = (
    ("headroom", "head-room", ",.2f"),
    ("inter_node_tuples_per_second", "tuples/s between nodes", ",.1f"),
    ("inter_node_bytes_per_second", "bytes/s between nodes", ",.0f"),
    ("inter_worker_tuples_per_second", "tuples/s between workers", ",.1f"),
    ("nodes_used", "nodes used", ","),
    ("workers_used", "workers used", ","),
)

KEEP = (
    "to keep the number, submit it with stormcut.workers: keep, or start the brain with "
    "--option workers=keep"
)


def print_preview(console: Console, preview: Mapping[str, Any], topology: str) -> None:
    """Print what happens to a topology, and to others that would be placed elsewhere by it."""
    lines = {line["topology"]: line for line in preview["topologies"]}
    declined = {line["topology"]: line["reason"] for line in preview["declined"]}
    others = [line for name, line in lines.items() if name != topology and is_moved(line)]
    if topology in lines:
        _print_line(console, lines[topology])
    elif topology in declined:
        _say(console, f"[bold]{escape(topology)}[/]: stays with Storm's own scheduler")
        _say(console, f"why: {escape(declined[topology])}")
    else:
        _say(
            console, f"[bold]{escape(topology)}[/] does not run now: nothing follows before it does"
        )
    for line in others:
        _print_line(console, line)


def print_outlook(console: Console, outlook: Mapping[str, Any]) -> None:
    """Print what was decided and waits, and what approves it; one line if nothing does."""
    if outlook["paused"]:
        _say(console, "[bold yellow]paused[/]: nothing is done before `stormcut resume`")
    left = outlook.get("left_on_drained", {})
    for text in drain_progress(left, len(left) == len(outlook.get("nodes", {}))):
        _say(console, escape(text))
    if outlook["proposal"] is None:
        rest = "" if not any(left.values()) else ", drained nodes apart"
        _say(console, f"nothing waits: all runs as decided{rest} (mode {outlook['mode']})")
        return
    _say(console, f"plan [bold]{outlook['proposal']}[/], mode {outlook['mode']}")
    for line in outlook["withheld"]:
        _print_line(console, line)
        for text in destinations(line, outlook.get("nodes", {})):
            _say(console, escape(text))
        never = line.get("answer") == "never"
        _say(console, f"{'never' if never else 'not now'}: {escape(line['guard'])}")
    if outlook["mode"] == "approve":
        _say(console, f"To do it: stormcut approve {outlook['proposal']}")


def drain_progress(left: Mapping[str, int], is_all: bool) -> Iterator[str]:
    """Yield how far each drained node is emptied.

    Parameters
    ----------
    left : mapping of str to int
        Executors that still run there, by host.
    is_all : bool
        There is no other node.
    """
    for host, count in left.items():
        yield f"drained: {host}, {f'{count} executors left' if count else 'drain complete'}"
    if left and is_all:
        yield "all nodes are drained: nothing can move, and nothing new is placed"


def destinations(line: Line, hosts: Mapping[str, str]) -> Iterator[str]:
    """Yield where each worker is to run, and which executors (by their first tasks) it gets."""
    for node, port, tasks in line.get("workers", ()):
        yield f"  {hosts.get(node, node)}:{port}  executors {_spans(tasks)}"


def _spans(tasks: Sequence[int]) -> str:
    """Return ascending numbers with runs shortened, such as 1-4, 7."""
    spans: list[list[int]] = []
    for task in tasks:
        if spans and task == spans[-1][1] + 1:
            spans[-1][1] = task
        else:
            spans.append([task, task])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in spans)


def is_moved(line: Line) -> bool:
    """Return whether a topology is to run elsewhere than now."""
    return line["before"] is None or line["workers_restarted"] > 0


def _print_line(console: Console, line: Line) -> None:
    restarted = line["workers_restarted"]
    slots = f"{restarted} slot{'s' * (restarted != 1)}"
    moves = f"moves; workers end or start anew in {slots}"
    what = moves if is_moved(line) else "stays as it is, nothing restarts"
    if line["before"] is None and not restarted:
        what = "is placed"
    _say(console, f"[bold]{escape(line['topology'])}[/]: {what}")
    console.print(_table(line))
    _say(console, f"why: {escape(line['reason'])}")
    for note in workers_notes(line):
        _say(console, f"[yellow]note[/]: {escape(note)}")


def _table(line: Line) -> Table:
    before, after = line["before"] or {}, line["after"]
    table = Table("" if line["measured"] else "as declared, 1 tuple/s from each executor")
    for title in ("now", "after", "change"):
        table.add_column(title, justify="right")
    for key, name, form in _ROWS:
        old, new = before.get(key), after.get(key)
        if old is not None or new is not None:
            table.add_row(name, _figure(old, form), _figure(new, form), _change(old, new))
    return table


def _figure(value: float | None, form: str) -> str:
    return "?" if value is None else format(value, form)


def _change(old: float | None, new: float | None) -> str:
    return f"{(new - old) / old:+.0%}" if old and new is not None and new != old else ""


def workers_notes(line: Line) -> Iterator[str]:
    """Yield what to know of the number of workers, if it is to be another than was asked for."""
    asked, after = line["workers_asked"], line["after"]["workers_used"]
    if after == asked:
        return
    before = line["before"]
    now = "" if before is None else f", {before['workers_used']} run now"
    text = f"it asked for {asked} workers (topology.workers){now}; the plan has {after}"
    could_keep = after < asked and line.get("workers_policy") == "any"
    yield f"{text}; {KEEP}" if could_keep else text


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False)
