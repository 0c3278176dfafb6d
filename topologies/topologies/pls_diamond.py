"""Two bolts side by side (pipeline-linear, Fig. 16a)."""

from micro.build import build
from micro.published import DIAMOND
from micro.settings import micro

OPTIONS = micro()

PlsDiamond = build("PlsDiamond", DIAMOND, OPTIONS)
