"""Performance models of five tasks, measured on slots of one core and 3.5 GB.

Peak rates, CPU and memory at the profiled thread counts that the paper's experiments used: those
printed in its section 5.3 and, between them, the tables that its authors published with their
scripts (github.com/anshuiisc/FullTopoSC-Scripts, August 2016). Only figures are taken over. Section
5.3 gives a Table query 60 tuples/s at 60 threads; every other figure of the paper, and the scripts,
have 40, which is used here. Parse and Pi get slower with more threads than listed.

References
----------
A. Shukla and Y. Simmhan, "Model-driven scheduling for distributed stream processing systems",
J. Parallel Distrib. Comput. 117 (2018), sections 5.2, 5.3, figure 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from stormcut.placement.algorithms.model_driven.allocation import PerformanceModel, Share

#: XML parse, Pi, batched file write, Azure blob download and Azure table query.
AZURE_TASKS: Mapping[str, PerformanceModel] = MappingProxyType(
    {
        "parse": PerformanceModel((1,), (310.0,), (84.69,), (35.63,)),
        "pi": PerformanceModel((1, 2), (105.0, 110.0), (92.35, 94.90), (2.07, 3.53)),
        "file": PerformanceModel((1, 2), (60_000.0, 50_000.0), (58.27, 51.84), (11.95, 2.76)),
        "blob": PerformanceModel(
            (1, 2, 20, 30, 50),
            (2.0, 3.0, 10.0, 20.0, 30.0),
            (6.73, 6.63, 14.69, 54.18, 76.73),
            (23.92, 23.98, 26.30, 28.74, 31.38),
        ),
        "table": PerformanceModel(
            (1, 2, 10, 40, 50, 60),
            (3.0, 5.0, 10.0, 20.0, 30.0, 40.0),
            (1.02, 2.04, 11.22, 26.53, 38.78, 54.08),
            (1.15, 1.15, 3.45, 9.20, 12.64, 16.09),
        ),
    }
)

#: What the paper sets aside for a dataflow's source and sink (section 8.3).
SOURCE = Share(1, 10.0, 15.0)
SINK = Share(1, 10.0, 20.0)
