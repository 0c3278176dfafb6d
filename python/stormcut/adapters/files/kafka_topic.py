"""A Kafka topic that metrics are read from, and the jars by which Spark does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stormcut.model.errors import InvalidInput

#: What Spark needs beside its own jars: names begin so.
NEEDED_JARS = (
    "spark-sql-kafka-0-10_",
    "spark-token-provider-kafka-0-10_",
    "kafka-clients-",
    "commons-pool2-",
)
_SERVER = r"[^\s,/]+:[0-9]{1,5}"
_SERVERS = re.compile(rf"{_SERVER}(?:,{_SERVER})*")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")


@dataclass(frozen=True)
class KafkaTopic:
    """Lines of metrics, each with its topology's id as its key.

    Attributes
    ----------
    servers : str
        host:port, several separated by commas.
    topic : str
    jars : tuple of Path
        Of Spark's connector, as `connector_jars` finds them.
    options : mapping of str to str
        Kafka's own settings of a consumer, such as ``security.protocol``.
    """

    servers: str
    topic: str
    jars: tuple[Path, ...]
    options: Mapping[str, str]


def check_topic(servers: str, topic: str) -> None:
    """Refuse what names no servers or no topic.

    Raises
    ------
    InvalidInput
        Servers are not of the form host:port, or the name is none that Kafka takes.
    """
    if not _SERVERS.fullmatch(servers):
        raise InvalidInput("servers must be HOST:PORT[,HOST:PORT...]", repr(servers))
    if not _NAME.fullmatch(topic):
        what = "topic must be 1 to 249 letters, digits, '.', '_' or '-'"
        raise InvalidInput(what, repr(topic))


def connector_jars(folder: Path) -> tuple[Path, ...]:
    """Return all jars of a folder that holds Spark's connector to Kafka.

    Raises
    ------
    InvalidInput
        It cannot be read, or a jar is missing without which Spark reads no Kafka.
    """
    try:
        jars = tuple(sorted(folder.glob("*.jar")))
    except OSError as error:
        raise InvalidInput(f"cannot be read: {error.strerror}", str(folder)) from error
    missing = [name for name in NEEDED_JARS if not any(jar.name.startswith(name) for jar in jars)]
    if missing:
        what = f"holds no {missing[0]}*.jar, without which Spark reads no Kafka; docs/kafka.md"
        raise InvalidInput(f"{what} tells how to get it", str(folder))
    return jars
