"""Reads workers' metrics logs with Spark: tables, profiles, and what was measured."""

from stormcut.adapters.spark.profiling import profile_logs
from stormcut.adapters.spark.session import spark_session

__all__ = ["profile_logs", "spark_session"]
