"""Words of a book, counted (StroMAX, Bframework)."""

from typing import ClassVar

from streamparse import Grouping, Topology

from rig.options import declare
from rig.source import FileSource
from words.count import Count
from words.split import Split

OPTIONS = declare(data="text/moby-dick.txt.gz")


@OPTIONS.with_parallelism
class WordCount(Topology):
    """Source -> Split -> Count."""

    source = FileSource.spec(par=OPTIONS.tasks(3))
    split = Split.spec(inputs={source: Grouping.SHUFFLE}, par=OPTIONS.tasks(10))
    count = Count.spec(inputs={split: Grouping.fields("word")}, par=OPTIONS.tasks(10))

    config: ClassVar = OPTIONS.config()
