"""What would follow from a change, as the brain previews it (docs/brain.md), for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from stormcut.report.terminal import Grid

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

#: What brains that are older than this command do not tell.
_OLDER: Mapping[str, Any] = {
    "approved": (),
    "drained_nowhere": (),
    "machines": {},
    "override": None,
    "moving": (),
    "pending": (),
    "why_paused": "",
}

#: Nodes that have less than they declare, of which a plan tells.
SHOWN_MACHINES = 3

KEEP = (
    "to keep the number, submit it with stormcut.workers: keep, or give it a rule with "
    "workers: keep"
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
    outlook = {**_OLDER, **outlook}
    if outlook["paused"]:
        why = escape(f" ({outlook['why_paused']})") if outlook["why_paused"] else ""
        _say(console, f"[bold yellow]paused[/]: nothing is done before `stormcut resume`{why}")
    for name in outlook["drained_nowhere"]:
        _say(console, f"[yellow]drained: {escape(name)}[/], but no supervisor has this id or host")
    # Nodes that share a machine have one text.
    texts = sorted(set(outlook["machines"].values()))
    for text in texts[:SHOWN_MACHINES]:
        _say(console, escape(text))
    if (more := len(texts) - SHOWN_MACHINES) > 0:
        _say(console, f"and {more} more: see `stormcut status`")
    left = outlook.get("left_on_drained", {})
    for text in drain_progress(left, len(left) == len(outlook.get("nodes", {}))):
        _say(console, escape(text))
    for move in outlook["moving"]:
        _say(console, escape(progress_words(move)))
    for order in outlook["pending"]:
        _say(console, escape(pending_words(order)))
    if not outlook["withheld"]:
        rest = "" if not any(left.values()) else ", drained nodes apart"
        _say(console, f"nothing waits: all runs as decided{rest} (mode {outlook['mode']})")
        return
    proposal, hosts = outlook["proposal"], outlook.get("nodes", {})
    offered = [line for line in outlook["withheld"] if line.get("is_offered", True)]
    held = [line for line in outlook["withheld"] if not line.get("is_offered", True)]
    if proposal is not None:
        is_approved = proposal in outlook["approved"]
        _say(
            console,
            f"plan [bold]{proposal}[/], mode {outlook['mode']}{', approved' * is_approved}",
        )
        for line in offered:
            _print_withheld(console, line, hosts)
        if way := _way(outlook, offered, is_approved):
            _say(console, escape(way))
    if held:
        _say(console, "[bold]held[/], even if approved:" if proposal else "[bold]held[/]:")
    for line in held:
        _print_withheld(console, line, hosts)
    _print_forced(console, outlook)


def progress_words(move: Mapping[str, Any]) -> str:
    """Return how far a move is that is made in stages."""
    done, left_s = move["workers"] - move["workers_left"], move["left_s"]
    when = (
        f"the last stage begins in {left_s:.0f} s at the earliest"
        if left_s > 0
        else "this is the last stage"
    )
    return (
        f"{move['topology']} moves in stages: {done} of {move['workers']} workers done, {when}; "
        "`stormcut pause` stops it between two stages, `undo` takes it back"
    )


def pending_words(order: Mapping[str, str]) -> str:
    """Return an order back that is not carried out yet, in words."""
    who = f" by {order['who']}" if order["who"] else ""
    who = who or (" by the controller" if order["by"] == "controller" else "")
    return f"{order['topology']}: ordered back{who}, does not run there yet"


def _way(outlook: Mapping[str, Any], offered: Sequence[Line], is_approved: bool) -> str:
    """Return what lets the proposed plan go, empty where an approval changes nothing."""
    waits = ", ".join(sorted({guard for line in offered for guard in _when_approved(line)}))
    if is_approved:
        return f"It goes once no guard holds it: {waits}" if waits else "It goes in the next round"
    if outlook["mode"] == "advise":
        return "The controller only advises: nothing is done"
    if all(line.get("waits_for") in _when_approved(line) for line in offered):
        return ""
    after = f" (it then waits for the end of: {waits})" if waits else ""
    return f"To do exactly this: stormcut approve {outlook['proposal']}{after}"


def _when_approved(line: Line) -> Sequence[str]:
    """Return the guards that still hold a change once it is approved."""
    names: Sequence[str] = line.get("when_approved", ())
    return names


def _print_withheld(console: Console, line: Line, hosts: Mapping[str, str]) -> None:
    _print_line(console, line)
    for text in destinations(line, hosts):
        _say(console, escape(text))
    never = line.get("answer") == "never"
    _say(console, f"{'never' if never else 'not now'}: {escape(line['guard'])}")


def _print_forced(console: Console, outlook: Mapping[str, Any]) -> None:
    """Print what a person can have done past the guards, where that is more or goes at once."""
    forced = outlook["override"]
    if forced is None or not forced["guards"] or outlook["mode"] == "advise":
        return
    if forced["proposal"] != outlook["proposal"]:
        _say(console, f"overriding these guards: plan [bold]{forced['proposal']}[/]")
        for line in forced["topologies"]:
            _say(console, f"[bold]{escape(line['topology'])}[/]: {escape(line['reason'])}")
            for text in destinations(line, outlook.get("nodes", {})):
                _say(console, escape(text))
    if forced["proposal"] in outlook["approved"]:
        _say(console, "It is approved, and goes once no other guard holds it")
        return
    command = f"stormcut approve {forced['proposal']} --override REASON"
    _say(console, escape(f"To override {', '.join(forced['guards'])}: {command}"))


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
    moves = f"moves; workers end or start again in {slots}"
    what = moves if is_moved(line) else "stays as it is, nothing restarts"
    if line["before"] is None and not restarted:
        what = "is placed"
    _say(console, f"[bold]{escape(line['topology'])}[/]: {what}")
    _table(line).print(console)
    _say(console, f"why: {escape(line['reason'])}")
    for note in workers_notes(line):
        _say(console, f"[yellow]note[/]: {escape(note)}")


def _table(line: Line) -> Grid:
    before, after = line["before"] or {}, line["after"]
    table = Grid().words("" if line["measured"] else "as declared, 1 tuple/s from each executor")
    table.figures("now", "after", "change")
    for key, name, form in _ROWS:
        old, new = before.get(key), after.get(key)
        if old is not None or new is not None:
            table.row(name, _figure(old, form), _figure(new, form), _change(old, new))
    return table


def _figure(value: float | None, form: str) -> str:
    return "?" if value is None else format(value, form)


def _change(old: float | None, new: float | None) -> str:
    return f"{(new - old) / old:+.0%}" if old and new is not None and new != old else ""


def workers_notes(line: Line) -> Iterator[str]:
    """Yield what to know of the number of workers, if it is to be another than was asked for."""
    wanted, after = line["workers_asked"], line["after"]["workers_used"]
    if after == wanted:
        return
    before = line["before"]
    now = "" if before is None else f", {before['workers_used']} run now"
    text = f"it asked for {wanted} workers (topology.workers){now}; the plan has {after}"
    could_keep = after < wanted and line.get("workers_policy") == "any"
    yield f"{text}; {KEEP}" if could_keep else text


def _say(console: Console, text: str) -> None:
    console.print(text, highlight=False)
