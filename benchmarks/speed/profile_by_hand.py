"""What one would write instead of `stormcut profile`: the rates of pairs of tasks, by hand.

    python -m benchmarks.speed.profile_by_hand FOLDER

It trusts every line, takes no task to have moved or started again, and no line to be there twice.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path

WARM_UP_S = 10.0


def rates(folder: str | Path) -> dict[tuple[str, int, int], float]:
    """Return tuples/s by topology, source and target task."""
    begins: dict[tuple[str, int], float] = {}
    seconds: dict[tuple[str, int], float] = defaultdict(float)
    sent: dict[tuple[str, int, int], int] = defaultdict(int)
    for log in sorted(Path(folder).rglob("worker.log.metrics")):
        topology = log.parent.parent.name
        with log.open(encoding="utf-8") as lines:
            for line in lines:
                head, _, _, name, value = line.split("\t", 4)
                if name.rstrip() != "stormcut":
                    continue
                hook = json.loads(value)
                task = topology, hook["task"]
                begin = int(head.split()[-1]) - hook["ms"] / 1000
                age = begin - begins.setdefault(task, begin)
                if age <= 0 or age < WARM_UP_S - 1:
                    continue
                seconds[task] += hook["ms"] / 1000
                for target, counts in hook["to"].items():
                    sent[*task, int(target)] += counts[0]
    return {pair: count / seconds[pair[:2]] for pair, count in sent.items() if count}


if __name__ == "__main__":
    for (topology, source, target), rate in sorted(rates(sys.argv[1]).items()):
        print(topology, source, target, round(rate, 3))
