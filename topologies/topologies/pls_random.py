"""Five components with two ways between them (pipeline-linear, Fig. 2)."""

from micro.build import build
from micro.published import RANDOM
from micro.settings import micro

OPTIONS = micro()

PlsRandom = build("PlsRandom", RANDOM, OPTIONS)
