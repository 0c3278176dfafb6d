"""What `sparse submit` does before it submits: a wrong option ends here, not in the workers."""

from collections.abc import Mapping
from typing import Any

from frequent_routes.settings import Settings


def pre_submit(
    topology_name: str, env_name: str, env_config: Mapping[str, Any], options: Mapping[str, Any]
) -> None:
    """Refuse `taxi.*` options that the components could not use."""
    Settings.from_conf(options)
