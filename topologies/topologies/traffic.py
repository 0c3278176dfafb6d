"""Positions of vehicles (model-driven scheduling, application)."""

from model_driven.build import build
from model_driven.dataflows import TRAFFIC
from model_driven.settings import model_driven

OPTIONS = model_driven(TRAFFIC.kinds)

Traffic = build("Traffic", TRAFFIC, OPTIONS)
