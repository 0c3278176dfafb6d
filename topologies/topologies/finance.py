"""A bargain index of shares (model-driven scheduling, application)."""

from model_driven.build import build
from model_driven.dataflows import FINANCE
from model_driven.settings import model_driven

OPTIONS = model_driven(FINANCE.kinds)

Finance = build("Finance", FINANCE, OPTIONS)
