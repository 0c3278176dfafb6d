"""Experiments on real clusters: a bench, the demo, runs of benchmark topologies.

Each is a trip downhill. What it needs from outside is named in `ports` and `bench.ports`; the CLI
starts the cluster, chooses what implements the ports, and prints what comes back.

- A bench: `bench.run` (which cell comes next) -> `bench.entrants` (a topology started as each
  scheduler places it) -> `bench.contest` (a placement) -> `bench.cell` (a cell is watched until a
  window is steady) -> `bench.windows` (what a window showed). Afterwards `bench.summary` says what
  all cells show together, for the report.
- The demo: `story` (a load rises, traffic shifts, a node is lost) -> `recorder` (what the sources
  report meanwhile) -> `timeline`, for the report.
- A run of a topology: `topology_run` (submit, drain, gather the tasks' reports) -> `outcome` (was
  the answer right) -> `loss` (was anything lost).
"""
