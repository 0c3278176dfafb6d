"""What several tests share, such as a cluster: in one process, and no longer than it is used."""

import pytest

#: Fixtures that are dear, those with the longest tests first: what shares one runs in one process.
SHARED = (
    "storm",
    "whole_ground",
    "stage",
    "ground",
    "docker_stage",
    "cluster",
    "spark",
    "zookeeper",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Put tests that share something first, and tell `pytest --dist loadgroup` what they share."""
    # What starts Spark itself comes before the session that all others share.
    items.sort(key=lambda item: (_shared(item), "spark" in item.fixturenames))
    for item in items:
        if (shared := _shared(item)) < len(SHARED):
            item.add_marker(pytest.mark.xdist_group(SHARED[shared]))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """End what the next test does not share: an idle cluster would take a core from the others."""
    for name in SHARED:
        if name in item.fixturenames and (nextitem is None or name not in nextitem.fixturenames):
            item._fixtureinfo.name2fixturedefs[name][-1].finish(item._request)


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
