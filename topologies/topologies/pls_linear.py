"""A chain of four (pipeline-linear, Fig. 6)."""

from micro.build import build
from micro.published import LINEAR
from micro.settings import micro

OPTIONS = micro()

PlsLinear = build("PlsLinear", LINEAR, OPTIONS)
