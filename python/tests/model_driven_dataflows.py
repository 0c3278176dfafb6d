"""The five tasks and six dataflows of Shukla and Simmhan's experiments, as examples/ has them."""

from pathlib import Path

from stormcut.adapters.files.capacity_files import read_dag, read_models
from stormcut.placement.algorithms.model_driven.allocation import Share

EXAMPLES = Path(__file__).parents[2] / "examples" / "capacity"
AZURE_TASKS = read_models(EXAMPLES / "azure.json")

#: What the paper sets aside for a dataflow's source and sink (section 8.3).
SOURCE = Share(1, 10.0, 15.0)
SINK = Share(1, 10.0, 20.0)


def _dag(name):
    return read_dag(EXAMPLES / f"{name}.json").dag


def _application(name):
    """Return (dataflow, model of each task)."""
    file = read_dag(EXAMPLES / f"{name}.json")
    return file.dag, file.models(AZURE_TASKS)


LINEAR, DIAMOND, STAR = map(_dag, ("linear", "diamond", "star"))
MICRO = {"linear": LINEAR, "diamond": DIAMOND, "star": STAR}
TRAFFIC, GRID, FINANCE = map(_application, ("traffic", "grid", "finance"))
