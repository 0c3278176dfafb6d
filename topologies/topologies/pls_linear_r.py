"""A chain of five that gets narrower (pipeline-linear, Fig. 16b)."""

from micro.build import build
from micro.published import LINEAR_R
from micro.settings import micro

OPTIONS = micro()

PlsLinearR = build("PlsLinearR", LINEAR_R, OPTIONS)
