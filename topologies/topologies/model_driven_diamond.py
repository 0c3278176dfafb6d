"""Four tasks side by side that all feed a fifth (model-driven scheduling, micro-dataflow)."""

from model_driven.build import build
from model_driven.dataflows import DIAMOND
from model_driven.settings import model_driven

OPTIONS = model_driven(DIAMOND.kinds)

ModelDrivenDiamond = build("ModelDrivenDiamond", DIAMOND, OPTIONS)
