"""Five tasks in a chain (model-driven scheduling, micro-dataflow)."""

from model_driven.build import build
from model_driven.dataflows import LINEAR
from model_driven.settings import model_driven

OPTIONS = model_driven(LINEAR.kinds)

ModelDrivenLinear = build("ModelDrivenLinear", LINEAR, OPTIONS)
