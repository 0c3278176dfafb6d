"""Log lines judged by rules, indexed and counted (StroMAX)."""

from typing import ClassVar

from streamparse import Grouping, Topology

from log_lines.entries import Counts, Index
from log_lines.rules import Rules
from rig.options import declare
from rig.source import FileSource

OPTIONS = declare(data="auth-log/auth.log.gz")


@OPTIONS.with_parallelism
class LogProcessing(Topology):
    """Source -> Rules -> {Index, Counter}."""

    source = FileSource.spec(par=OPTIONS.tasks(3))
    rules = Rules.spec(inputs={source: Grouping.SHUFFLE}, par=OPTIONS.tasks(10))
    index = Index.spec(inputs={rules: Grouping.SHUFFLE}, par=OPTIONS.tasks(10))
    counter = Counts.spec(inputs={rules: Grouping.fields("level")}, par=OPTIONS.tasks(10))

    config: ClassVar = OPTIONS.config()
