"""A Spark session, one for all tests of a process."""

import pytest

from stormcut.adapters.spark.session import spark_session


@pytest.fixture(scope="session")
def spark():
    """A local Spark session of two cores."""
    with spark_session("local[2]") as session:
        yield session
