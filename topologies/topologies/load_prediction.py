"""The load of homes and their plugs, predicted (thesis, DEBS 2014; with Redis)."""

from typing import ClassVar

from streamparse import Grouping, Topology

from plugs.components import HousePrediction, PlugPrediction, Sink, Source
from rig.options import MODE, REDIS, Option, count, declare

OPTIONS = declare(
    own={
        "redis": REDIS,
        "mode": MODE,
        "slice.seconds": Option(15, count, "length of a slice; the thesis has 15 minutes"),
        "slices.per.day": Option(20, count, "slices in a day; the thesis has 96"),
    },
    data="smart-plugs/eco-2012-07-03-11h.csv.gz",
)
THESIS = OPTIONS["mode"] == "thesis"
#: As printed, the readings of a plug are split over tasks, and so are its averages.
BY_PLUG = Grouping.SHUFFLE if THESIS else Grouping.fields("plug")
BY_HOUSE = Grouping.SHUFFLE if THESIS else Grouping.fields("house")
BY_WHO = Grouping.fields("who")


@OPTIONS.with_parallelism
class LoadPrediction(Topology):
    """Source -> {Plug prediction, House prediction} -> Sink."""

    source = Source.spec(par=OPTIONS.tasks(10))
    plug_prediction = PlugPrediction.spec(inputs={source: BY_PLUG}, par=OPTIONS.tasks(10))
    house_prediction = HousePrediction.spec(inputs={source: BY_HOUSE}, par=OPTIONS.tasks(10))
    sink = Sink.spec(
        inputs={plug_prediction: BY_WHO, house_prediction: BY_WHO}, par=OPTIONS.tasks(10)
    )

    config: ClassVar = OPTIONS.config()
