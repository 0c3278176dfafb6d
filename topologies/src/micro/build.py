"""From a layout to a topology."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamparse import Grouping, JavaBolt, JavaSpout, Topology
from streamparse.dsl.topology import TopologyType

from micro.components import Relay, Sink, Source
from micro.layout import Layout
from rig.options import Options

#: Package of the components' Java counterparts.
JAVA = "io.stormcut.topologies"
GROUPINGS: Mapping[str, Any] = {
    "shuffle": Grouping.SHUFFLE,
    "local_or_shuffle": Grouping.LOCAL_OR_SHUFFLE,
    "fields": Grouping.fields("key"),
}


def build(name: str, layout: Layout, options: Options) -> TopologyType:
    """Return the topology of a layout."""
    grouping = GROUPINGS[options["grouping"]]
    specs: dict[str, Any] = {}
    for component, tasks in layout.tasks.items():
        inputs = {specs[sender]: grouping for sender in layout.senders(component)}
        part = {"name": component, "par": options.tasks(tasks)}
        if inputs:
            part["inputs"] = inputs
        specs[component] = _spec(layout, component, part, options["language"])
    built = TopologyType(name, (Topology,), {**specs, "config": options.config()})
    return options.with_parallelism(built)


def _spec(layout: Layout, component: str, part: dict[str, Any], language: str) -> Any:
    kind = Source if "inputs" not in part else Sink if layout.is_sink(component) else Relay
    if language == "python":
        return kind.spec(**part)
    java = JavaSpout if kind is Source else JavaBolt
    return java.spec(
        full_class_name=f"{JAVA}.{kind.__name__}",
        args_list=[],
        outputs=kind.outputs,
        config=kind.config,
        **part,
    )
