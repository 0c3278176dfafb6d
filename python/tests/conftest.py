"""Fixtures and settings of all tests; test modules may import what lies beside this file."""

from hypothesis import HealthCheck, settings

pytest_plugins = ["conftest_zookeeper"]

# Every run draws the same examples: a failure on one machine is a failure on all.
settings.register_profile(
    "stormcut",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("stormcut")
