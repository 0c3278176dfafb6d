"""The mood of tweets, by two classifiers whose scores are joined (StroMAX)."""

from typing import ClassVar

from streamparse import Grouping, Topology

from rig.options import declare
from tweets.sentiment import Clean, Join, Negative, Positive, Score, Sensitize
from tweets.source import Tweets

OPTIONS = declare(data="tweets/fight-night.jsonl.gz")
BOLTS = OPTIONS.tasks(10)


@OPTIONS.with_parallelism
class Sentiment(Topology):
    """Source -> Sensitize -> Clean -> {Positive, Negative} -> Join -> Score."""

    source = Tweets.spec(par=OPTIONS.tasks(3))
    sensitize = Sensitize.spec(inputs={source: Grouping.SHUFFLE}, par=BOLTS)
    clean = Clean.spec(inputs={sensitize: Grouping.SHUFFLE}, par=BOLTS)
    positive = Positive.spec(inputs={clean: Grouping.SHUFFLE}, par=BOLTS)
    negative = Negative.spec(inputs={clean: Grouping.SHUFFLE}, par=BOLTS)
    join = Join.spec(
        inputs={positive: Grouping.fields("id"), negative: Grouping.fields("id")}, par=BOLTS
    )
    score = Score.spec(inputs={join: Grouping.SHUFFLE}, par=BOLTS)

    config: ClassVar = OPTIONS.config()
