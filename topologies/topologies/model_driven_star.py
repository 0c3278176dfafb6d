"""Two tasks that feed a hub, which feeds two others (model-driven scheduling, micro-dataflow)."""

from model_driven.build import build
from model_driven.dataflows import STAR
from model_driven.settings import model_driven

OPTIONS = model_driven(STAR.kinds)

ModelDrivenStar = build("ModelDrivenStar", STAR, OPTIONS)
