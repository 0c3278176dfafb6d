"""From a dataflow to its topology."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamparse import Grouping, JavaBolt, JavaSpout, Topology
from streamparse.dsl.topology import TopologyType

from model_driven.dataflows import Dataflow
from model_driven.source import NumberSource
from model_driven.tasks import BatchedWrite, BlobDownload, Pi, TableQuery, Total, XmlParse
from rig.options import Options

#: Package of the components' Java counterparts, which have the same names.
JAVA = "io.stormcut.topologies"
TASKS: Mapping[str, Any] = {
    "parse": XmlParse,
    "pi": Pi,
    "file": BatchedWrite,
    "blob": BlobDownload,
    "table": TableQuery,
}


def build(name: str, dataflow: Dataflow, options: Options) -> TopologyType:
    """Return the topology of a dataflow."""
    java = options["language"] == "java"
    java_source = "TrialSource" if options["steered"] == "yes" else NumberSource.__name__
    specs: dict[str, Any] = {
        "source": JavaSpout.spec(
            name="source",
            par=options.tasks(1),
            full_class_name=f"{JAVA}.{java_source}",
            args_list=[],
            outputs=NumberSource.outputs,
            config=NumberSource.config,
        )
        if java
        else NumberSource.spec(name="source", par=options.tasks(1))
    }
    for task, kind in dataflow.kinds.items():
        senders = dataflow.senders(task) or ["source"]
        threads = options.tasks(options[f"threads.{task}"])
        specs[component(task, kind)] = _bolt(
            TASKS[kind], component(task, kind), threads, _inputs(specs, dataflow, senders), java
        )
    specs["sink"] = _bolt(
        Total, "sink", options.tasks(1), _inputs(specs, dataflow, dataflow.last()), java
    )
    built = TopologyType(name, (Topology,), {**specs, "config": options.config()})
    return options.with_parallelism(built)


def component(task: str, kind: str) -> str:
    """Return the name of a task's component: a number gets its kind before it."""
    return f"{kind}_{task}" if task.isdigit() else task


def _inputs(specs: Mapping[str, Any], dataflow: Dataflow, senders: list[str]) -> dict[Any, Any]:
    kinds = dataflow.kinds
    names = [each if each == "source" else component(each, kinds[each]) for each in senders]
    return {specs[name]: Grouping.SHUFFLE for name in names}


def _bolt(kind: Any, name: str, tasks: int, inputs: dict[Any, Any], java: bool) -> Any:
    if not java:
        return kind.spec(name=name, inputs=inputs, par=tasks)
    return JavaBolt.spec(
        name=name,
        inputs=inputs,
        par=tasks,
        full_class_name=f"{JAVA}.{kind.__name__}",
        args_list=[],
        outputs=kind.outputs,
        config=kind.config,
    )
