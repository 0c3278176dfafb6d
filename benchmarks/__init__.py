"""What stormcut is measured by: README.md says what lies where."""

import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]

# Random and small problems, which tests and benchmarks share.
sys.path.append(str(CHECKOUT / "python" / "tests"))
