"""Placement algorithms: one file or package each; none imports another but its baseline's."""
