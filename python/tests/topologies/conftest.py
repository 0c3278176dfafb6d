import sys
from pathlib import Path

import pytest
from hypothesis import settings

PROJECT = Path(__file__).parents[3] / "topologies"

# The components import each other as they do in a worker, where src/ is the jar's resources/.
sys.path.insert(0, str(PROJECT / "src"))

# How long an example takes says more about the machine's other work than about the code.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


@pytest.fixture(scope="session")
def project() -> Path:
    """The streamparse project."""
    return PROJECT
