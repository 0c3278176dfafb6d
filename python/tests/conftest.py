"""Fixtures and settings of all tests; test modules may import what lies beside this file."""

import pytest
from hypothesis import HealthCheck, settings
from storm_oracle import StormOracle

pytest_plugins = ["conftest_spark", "conftest_zookeeper", "sharing", "tls_site"]

#: Examples of a property, by how much time there is (`--hypothesis-profile=full`).
EXAMPLES = {"fast": 5, "usual": 8, "full": 160}

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


@pytest.fixture(scope="session")
def storm_oracle(tmp_path_factory):
    oracle = StormOracle(tmp_path_factory.mktemp("oracle"))
    yield oracle
    oracle.close()
