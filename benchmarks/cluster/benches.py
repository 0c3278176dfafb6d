"""Every bench that is kept, on one page: how it came about, and what its topologies reached.

    python -m benchmarks.cluster.benches --output docs/results/benches.md [FOLDER ...]

A bench is kept as an archive of its folder in `benchmarks/data/benches`, which `FileJournal` reads;
its README says how it came about. Each FOLDER is added, or takes the place of the archive of its
name.
"""

from __future__ import annotations

import argparse
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.machine import made_by
from stormcut.lab.adapters.bench.journal import FileJournal
from stormcut.lab.adapters.bench.kept_benches import BENCHES
from stormcut.lab.report.bench_figures import BenchResults, absent, amount
from stormcut.placement.registry import BASELINE
from stormcut.report.tables import Section, Table, markdown

INTRODUCTION = (
    "All that stormcut bench measured and that other pages build on: windows of tuples that"
    " topologies acked, on one cluster of containers; in brackets lowest and highest of several."
    " Ratios pair the windows of one repetition."
    " What containers on one machine can and cannot show stands in every bench's own page.",
    "Journals, problems and placements are in benchmarks/data/benches, an archive for each bench:"
    " stormcut calibrate reads archives. For a bench's whole page, with tuple times, links and CPU"
    " of nodes, unpack one (python3 -m zipfile -e NAME.zip NAME) and run"
    " stormcut bench --report-only --output NAME.",
)


def pack(folder: Path) -> None:
    """Keep a bench's folder as an archive, but for what `--report-only` makes."""
    made = {"bench.html", "cells.parquet", "cells.csv", "bench.md"}
    with zipfile.ZipFile(
        BENCHES / f"{folder.name}.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9
    ) as packed:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name not in made:
                packed.write(path, path.relative_to(folder))


def read_story(archive: Path) -> str:
    """Return how a bench came about, its links as they are on the page of all."""
    with zipfile.ZipFile(archive) as packed:
        if "README.md" not in packed.namelist():
            return ""
        text = packed.read("README.md").decode("utf-8").partition("\n")[2].strip()
    text = re.sub(r"\]\(\.\./(bench-[a-z0-9-]+)/[A-Za-z.]*\)", r"](#\1)", text)
    text = re.sub(r"\]\(bench\.md\)", f"](#{archive.stem})", text)
    text = re.sub(r"\]\(\.\./(?!\.\./)", "](", text)
    return text.replace("](../../", "](../").replace("docs/results/bench-", "bench-")


def section(name: str, story: str, journal: FileJournal) -> str:
    """Return how a bench came about, and what topologies reached under its schedulers."""
    found = BenchResults(journal.run, journal.measurements(), journal.placements())
    facts = journal.run.facts
    made = ", ".join(facts[key] for key in ("day", "commit") if key in facts)
    table = Table(
        ("topology", *journal.run.schedulers),
        tuple((topology, *_cells(found, topology)) for topology in journal.run.topologies),
        f"{journal.run.summary}. Tuples/10 s under {BASELINE}, others over it, or their own where"
        f" it has none. Made {made}.",
    )
    heading, _, rest = markdown([Section(name, 2, tables=(table,))]).partition("\n")
    return "\n\n".join(filter(None, (heading, story, rest.strip())))


def _cells(found: BenchResults, topology: str) -> Iterator[str]:
    for scheduler in found.run.schedulers:
        summary = found.summary(topology, scheduler)
        ratio = found.ratio(topology, scheduler, BASELINE, "throughput")
        if summary.tuples_per_10s is None:
            yield absent(summary)
        elif scheduler == BASELINE or ratio is None:
            yield amount(summary.tuples_per_10s.median)
        elif ratio.spread.lowest == ratio.spread.highest:
            yield f"{ratio.spread.median:.2f}"
        else:
            spread = ratio.spread
            yield f"{spread.median:.2f} ({spread.lowest:.2f}-{spread.highest:.2f})"


def main() -> None:
    """Pack the folders, write the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    for folder in options.folders:
        pack(folder)
    head = markdown([Section("Benches", 1, text=INTRODUCTION)]).strip()
    archives = sorted(BENCHES.glob("*.zip"))
    benches = (section(each.stem, read_story(each), FileJournal(each)) for each in archives)
    options.output.write_text("\n\n".join((head, *benches, made_by())) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
