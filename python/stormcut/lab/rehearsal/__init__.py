"""The controller on simulated time: its observer, brain and gate, on a simulated cluster."""
