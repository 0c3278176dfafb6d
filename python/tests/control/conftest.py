import pytest

from stormcut.control.decide import adviser


@pytest.fixture
def solved(monkeypatch):
    """The ids of the topologies for which a placement was sought."""
    sought, solve = [], adviser.solve

    def noted(problem, *rest):
        sought.append(problem.topologies[0].id)
        return solve(problem, *rest)

    monkeypatch.setattr(adviser, "solve", noted)
    return sought
