"""Pages and pictures of the papers' figures: printed values beside ours, and the verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING

from stormcut.lab.papers import claims as rules
from stormcut.lab.papers.cells import Outcome, Value
from stormcut.lab.papers.claims import ClaimVerdict, Judgement, Missing, PaperClaim
from stormcut.lab.papers.figures import Figure, Paper
from stormcut.placement.options import DEFAULT_ALGORITHM
from stormcut.report.figures import COLOURS, drawn, empty

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Of a case's figures that a page shows beside the one that is drawn.
_BESIDE = {"between_nodes": "tuples/s between nodes", "nodes": "nodes"}
#: Of what figures show; of all else more is better.
_LOWER_IS_BETTER = {"between_nodes", "inb", "latency_ms", "memory", "seconds", "task_ms"}
_RULES = f"""\
A gain holds if ours has the printed direction and at least {rules.SHARE:.0%} of its size, both as
logarithms; a gain that is printed as near linear needs {rules.NEARLY:.0%}. "Similar" holds if the
two differ by {rules.ALIKE:.0%} at most. A printed value holds if ours is within {rules.EXACT:.1%}
of it. An order holds if none is better by more than {rules.LEVEL:.0%} than the one that is printed
to be better. A claim cannot be told where something could not be placed or simulated, or where
another choice of what the paper does not give turns the verdict."""


@dataclass(frozen=True)
class Judged:
    """A claim of a figure, with our judgement, and those under other choices."""

    figure: Figure
    claim: PaperClaim
    judgement: Judgement
    variants: Mapping[str, Judgement]


def judged(
    figures: Sequence[Figure], outcomes: Mapping[str, Outcome], chosen: Mapping[str, Value]
) -> list[Judged]:
    """Return every claim of these figures with its judgement."""
    return [
        Judged(figure, claim, judgement, variants)
        for figure in figures
        for claim, judgement, variants in figure.judgements(outcomes, chosen)
    ]


def paper_page(
    paper: Paper,
    figures: Sequence[Figure],
    outcomes: Mapping[str, Outcome],
    chosen: Mapping[str, Value],
    made: str,
    stem: str,
) -> str:
    """Return a paper's page; its picture is ``stem``.svg in the same folder."""
    verdicts = judged(figures, outcomes, chosen)
    parts = [
        f"# {paper.title}",
        f"The paper: {paper.claim}",
        paper.choices,
        *([f"Chosen: {_parameters(chosen)}."] if chosen else []),
        "## Claims",
        _claims_table(verdicts),
        _RULES,
        *([f"![Printed values and ours]({stem}.svg)"] if any(map(has_picture, figures)) else []),
        *(
            part
            for figure in figures
            if figure.cases
            for part in _figure_parts(figure, verdicts, outcomes, chosen)
        ),
    ]
    left_out = [figure for figure in figures if not figure.cases]
    if left_out:
        parts += ["## Not run", _left_out_table(left_out)]
    return "\n\n".join([*parts, made]) + "\n"


def _claims_table(verdicts: Sequence[Judged]) -> str:
    lines = [
        "| figure | claim | printed | ours | ours / printed | verdict |",
        "| --- | --- | --- | --- | ---: | --- |",
    ]
    for each in verdicts:
        ratio = "" if each.judgement.ratio is None else f"{each.judgement.ratio:.2f}"
        cells = (
            each.figure.number,
            each.claim.sentence,
            each.claim.printed,
            each.judgement.ours,
            ratio,
            f"**{each.judgement.verdict.value}**",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _left_out_table(figures: Sequence[Figure]) -> str:
    lines = ["| figure | what it shows | why not |", "| --- | --- | --- |"]
    lines += [f"| {each.number} | {each.title} | {each.left_out} |" for each in figures]
    return "\n".join(lines)


def _figure_parts(
    figure: Figure,
    verdicts: Sequence[Judged],
    outcomes: Mapping[str, Outcome],
    chosen: Mapping[str, Value],
) -> Iterator[str]:
    own = [each for each in verdicts if each.figure is figure]
    yield f"## {figure.number}: {figure.title}"
    yield f"Section {figure.where}. Parameters: {_parameters({**figure.parameters(), **chosen})}."
    reasons = [
        f"- {each.claim.sentence}: {each.judgement.reason}."
        for each in own
        if each.judgement.reason
    ]
    if reasons:
        yield "\n".join(reasons)
    yield _cases_table(figure, outcomes, chosen)
    if figure.variants_of(chosen):
        yield _variants_table(figure, own, chosen)


def _parameters(values: Mapping[str, Value]) -> str:
    return ", ".join(f"{key} {_format(value)}" for key, value in sorted(values.items())) or "none"


def _format(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:,g}"


def _cases_table(
    figure: Figure, outcomes: Mapping[str, Outcome], chosen: Mapping[str, Value]
) -> str:
    values = figure.values(outcomes, chosen)
    beside = {metric: unit for metric, unit in _BESIDE.items() if metric != figure.metric}
    heading = ["case", figure.unit, *beside.values()]
    lines = [f"| {' | '.join(heading)} |", f"| --- |{' ---: |' * (len(heading) - 1)}"]
    for case in figure.cases:
        if figure.drawn and case.label not in {*figure.drawn, *_deciding(figure)}:
            continue
        try:
            cells = [_number(values(case.label, figure.metric))]
        except Missing as missing:
            why = str(missing).removeprefix(f"{case.label}: ")
            lines.append(f"| {case.label} | - | {why} |{' |' * (len(heading) - 3)}")
            continue
        for metric in beside:
            try:
                cells.append(_number(values(case.label, metric)))
            except Missing:
                cells.append("")
        lines.append(f"| {' | '.join([case.label, *cells])} |")
    return "\n".join(lines)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def _variants_table(figure: Figure, own: Sequence[Judged], chosen: Mapping[str, Value]) -> str:
    names = list(figure.variants_of(chosen))
    lines = [
        f"| claim | as chosen | {' | '.join(names)} |",
        f"| --- |{' --- |' * (len(names) + 1)}",
    ]
    for each in own:
        cells = [each.claim.sentence, each.judgement.ours]
        cells += [
            f"{each.variants[name].ours} ({each.variants[name].verdict.value})" for name in names
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def has_picture(figure: Figure) -> bool:
    """Return whether a figure prints numbers, to be drawn beside ours."""
    wordy = (rules.Order, rules.Limit, rules.Equal)
    return any(not isinstance(claim, wordy) for claim in figure.claims)


def draw_figures(
    figures: Sequence[Figure], outcomes: Mapping[str, Outcome], chosen: Mapping[str, Value]
) -> bytes:
    """Return a panel for each figure that prints numbers, two in a row: a bar for each case."""
    panels = [
        (figure, _bars(figure, outcomes, chosen)) for figure in figures if has_picture(figure)
    ]
    columns = min(2, len(panels))
    rows = [panels[first : first + columns] for first in range(0, len(panels), columns)]
    heights = [1.2 + 0.2 * max(2, *(len(bars) for _, bars in row)) for row in rows]
    picture = empty(6.0 * columns, sum(heights))
    parts = picture.subfigures(len(rows), columns, squeeze=False, height_ratios=heights)
    for part, (figure, bars) in zip(parts.flat, panels, strict=False):
        printed = list(_printed(figure, figure.values(outcomes, chosen)))
        part.suptitle(
            fill(f"{figure.number}: {figure.title}", 66), x=0.02, ha="left", size="medium"
        )
        _draw_panel(part.subplots(), figure, bars, printed)
    return drawn(picture)


def _bars(
    figure: Figure, outcomes: Mapping[str, Outcome], chosen: Mapping[str, Value]
) -> dict[str, float]:
    """Return the value of each case that the figure's panel shows, in its order."""
    measured = _measured(figure, outcomes, chosen)
    return {each: measured[each] for each in figure.drawn or measured if each in measured}


def _draw_panel(
    axes: Axes, figure: Figure, bars: Mapping[str, float], printed: Sequence[tuple[str, float]]
) -> None:
    """Draw a bar for each case; deciding ones and `cut` have colours of their own."""
    colours = ["#bbbbbb"] * len(bars)
    for index, label in enumerate(bars):
        if label.startswith(DEFAULT_ALGORITHM):
            colours[index] = COLOURS[1]
        elif label in _deciding(figure):
            colours[index] = COLOURS[0]
    rows = {label: index for index, label in enumerate(bars)}
    axes.barh(range(len(bars)), list(bars.values()), color=colours)
    points = [(value, rows[label]) for label, value in printed if label in rows]
    if points:
        axes.scatter(*zip(*points, strict=True), marker="D", color="black", label="as printed")
        axes.legend(loc="lower right", fontsize="small")
    axes.set_yticks(range(len(bars)), list(bars), fontsize="small")
    axes.invert_yaxis()
    axes.set_xlabel(figure.unit, fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)


def _deciding(figure: Figure) -> set[str]:
    return {label for claim in figure.claims for label in claim.labels}


def _printed(figure: Figure, values: rules.Values) -> Iterator[tuple[str, float]]:
    """Yield where a case's bar would end if it were as printed."""
    for claim in figure.claims:
        if claim.metric != figure.metric:
            continue
        if isinstance(claim, rules.Printed):
            yield from claim.values.items()
        elif isinstance(claim, rules.Gain):
            with suppress(Missing):
                yield claim.case, claim.ratio * values(claim.over, claim.metric)


def summary_page(
    verdicts: Mapping[str, tuple[Paper, Sequence[Judged]]],
    outcomes: Mapping[str, Outcome],
    chosen: Mapping[str, Value],
    made: str,
    suffix: str = "",
) -> str:
    """Return the page that a person reads first: each paper, what it claims, and what holds.

    ``suffix`` ends the names of all pages and pictures of this run.
    """
    lines = [
        "| paper | claims | hold | do not | cannot be told | figures not run |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for name, (paper, own) in verdicts.items():
        counts = Counter(each.judgement.verdict for each in own)
        left_out = sum(not figure.cases for figure in paper.figures)
        lines.append(
            f"| [{name}]({name}{suffix}.md) | {paper.claim} | {counts[ClaimVerdict.HOLDS]} | "
            f"{counts[ClaimVerdict.FAILS]} | {counts[ClaimVerdict.OPEN]} | {left_out} |"
        )
    parts = [
        "# Five papers, re-run",
        "What five papers on scheduling for Storm claim, and what their own algorithms, their "
        "rivals and `cut` do here: placed by the engine and simulated on the one cost model, not "
        "run on a cluster. `stormcut reproduce all` makes these pages.",
        "\n".join(lines),
        f"![Printed changes and ours](summary{suffix}.svg)",
        "Each point is a claim with a printed change: right of 1 the paper's metric rises, left of "
        "it falls. On the diagonal ours is as printed; on the horizontal line nothing changes.",
        f"## Where `{DEFAULT_ALGORITHM}` stands",
        "Every figure in which it meets all other schedulers, papers' own among them. Ratio: how "
        "many times the best of the others it carries, or that takes of what it takes; above 1 "
        f"`{DEFAULT_ALGORITHM}` is ahead.",
        _standing_table([paper for paper, _ in verdicts.values()], outcomes, chosen),
        "## When a claim holds",
        _RULES,
    ]
    return "\n\n".join([*parts, made]) + "\n"


def _standing_table(
    papers: Sequence[Paper], outcomes: Mapping[str, Outcome], chosen: Mapping[str, Value]
) -> str:
    lines = [
        f"| figure | what | {DEFAULT_ALGORITHM} | best other | with | ratio |",
        "| --- | --- | ---: | --- | ---: | ---: |",
    ]
    # Figures that share their cells say the same.
    seen: set[tuple[str, str]] = set()
    for paper in papers:
        for figure in paper.figures:
            cells = {case.label: next(case.cells(chosen)).key for case in figure.cases}
            key = (cells.get(DEFAULT_ALGORITHM, ""), figure.metric)
            if not key[0] or key in seen:
                continue
            seen.add(key)
            measured = _measured(figure, outcomes, chosen)
            own = measured.pop(DEFAULT_ALGORITHM, None)
            others = {
                n: each for n, each in measured.items() if not n.startswith(DEFAULT_ALGORITHM)
            }
            if own is None or not others:
                continue
            lower = figure.metric in _LOWER_IS_BETTER
            best = (min if lower else max)(others, key=lambda name: others[name])
            ratio = others[best] / own if lower else own / others[best]
            texts = (
                f"{paper.name} {figure.number}",
                figure.title.partition(":")[0],
                _number(own),
                best,
                _number(others[best]),
                f"{ratio:.2f}",
            )
            lines.append(f"| {' | '.join(texts)} |")
    return "\n".join(lines)


def _measured(
    figure: Figure, outcomes: Mapping[str, Outcome], chosen: Mapping[str, Value]
) -> dict[str, float]:
    """Return what the figure shows of each case that has it."""
    values = figure.values(outcomes, chosen)
    measured: dict[str, float] = {}
    for case in figure.cases:
        with suppress(Missing):
            measured[case.label] = values(case.label, figure.metric)
    return measured


def draw_summary(verdicts: Mapping[str, tuple[Paper, Sequence[Judged]]]) -> bytes:
    """Return printed ratios and ours, a colour for each paper."""
    picture = empty(7, 6)
    axes = picture.subplots()
    bounds = [0.1, 10.0]
    for index, (name, (_, own)) in enumerate(verdicts.items()):
        points = [
            (each.claim.ratio, each.claim.ratio * each.judgement.ratio)
            for each in own
            if isinstance(each.claim, rules.Gain) and each.judgement.ratio is not None
        ]
        if points:
            printed, ours = zip(*points, strict=True)
            axes.scatter(printed, ours, color=COLOURS[index % len(COLOURS)], label=name, alpha=0.7)
    axes.plot(bounds, bounds, color="gray", linewidth=0.8)
    axes.axhline(1.0, color="gray", linewidth=0.8, linestyle="--")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("printed ratio")
    axes.set_ylabel("our ratio")
    axes.legend(loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    return drawn(picture)
