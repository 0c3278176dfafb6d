"""The five papers by name."""

from __future__ import annotations

from stormcut.application.papers.bframework import BFRAMEWORK
from stormcut.application.papers.figures import Paper
from stormcut.application.papers.model_driven import MODEL_DRIVEN
from stormcut.application.papers.pipeline_linear import PIPELINE_LINEAR
from stormcut.application.papers.stromax import STROMAX
from stormcut.application.papers.thesis import THESIS

PAPERS: dict[str, Paper] = {
    paper.name: paper for paper in (THESIS, PIPELINE_LINEAR, STROMAX, BFRAMEWORK, MODEL_DRIVEN)
}
