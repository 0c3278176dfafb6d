"""One task between a source and a sink (model-driven scheduling, the trial of a task)."""

from model_driven.build import build
from model_driven.dataflows import KINDS, Dataflow
from model_driven.settings import model_driven
from rig.options import Option, choice

OPTIONS = model_driven(
    ["task"],
    {"task": Option("pi", choice(*KINDS), "what the task does")},
)

OneTask = build("OneTask", Dataflow({"task": OPTIONS["task"]}, ()), OPTIONS)
