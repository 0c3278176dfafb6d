"""Fixtures and settings of all tests; test modules may import what lies beside this file."""

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["conftest_spark", "conftest_zookeeper"]

#: Fixtures that are dear, those with the longest tests first: what shares one runs in one process.
SHARED = ("storm", "stage", "cluster", "spark", "zookeeper")

#: Examples of a property, by how much time there is (`--hypothesis-profile=full`).
EXAMPLES = {"fast": 10, "usual": 40, "full": 400}

for name, examples in EXAMPLES.items():
    settings.register_profile(
        name,
        max_examples=examples,
        # How long an example takes says more about the machine's other work than about the code.
        deadline=None,
        # Every run draws the same examples: a failure on one machine is a failure on all.
        derandomize=True,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
        ],
    )
settings.load_profile("usual")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Put tests that share something first, and tell `pytest --dist loadgroup` what they share."""
    # What starts Spark itself comes before the session that all others share.
    items.sort(key=lambda item: (_shared(item), "spark" in item.fixturenames))
    for item in items:
        if (shared := _shared(item)) < len(SHARED):
            item.add_marker(pytest.mark.xdist_group(SHARED[shared]))


def _shared(item):
    """Return the place in `SHARED` of what a test uses, its end if it uses none."""
    used = [place for place, name in enumerate(SHARED) if name in item.fixturenames]
    own = [SHARED.index("spark")] if item.get_closest_marker("spark") else []
    return min([*(used or own), len(SHARED)])


def pytest_collection_finish(session):
    """Refuse a pytest-xdist that deals out tests as if they shared nothing: it takes hours."""
    if getattr(session.config.option, "loadgroup", False):
        for item in session.items:
            if item.get_closest_marker("xdist_group") and "@" not in item.nodeid:
                raise pytest.UsageError("this pytest-xdist ignores xdist_group under this pytest")
