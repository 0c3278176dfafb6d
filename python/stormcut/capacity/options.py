"""What may be asked of a capacity plan: light to import, as commands name it in their help."""

from __future__ import annotations

ALLOCATIONS = ("lsa", "mba")
MAPPINGS = ("dsm", "rsm", "sam", "cut")
#: Those that place source and sink, too, where they are asked to: they need no models.
WITH_ENDS = ("dsm", "rsm")
#: Which part of every thread, CPU and link a plan uses unless asked otherwise. The rest is for what
#: comes in bursts, is restarted, or was measured too low.
UTILISATION = 0.8
