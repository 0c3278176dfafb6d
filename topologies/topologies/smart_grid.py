"""Meters of a power grid (model-driven scheduling, application)."""

from model_driven.build import build
from model_driven.dataflows import GRID
from model_driven.settings import model_driven

OPTIONS = model_driven(GRID.kinds)

SmartGrid = build("SmartGrid", GRID, OPTIONS)
