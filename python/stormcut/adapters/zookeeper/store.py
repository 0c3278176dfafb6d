"""Plans, with what is kept of them for whoever leads next."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from kazoo.exceptions import KazooException

from stormcut.adapters.zookeeper.nodes import StormcutNodes
from stormcut.adapters.zookeeper.trails import append_step
from stormcut.control.gate.ledger import Restarts
from stormcut.control.ports import Record, Unavailable
from stormcut.model.errors import InvalidInput
from stormcut.model.plan import Plan

log = logging.getLogger(__name__)

RESTARTS_VERSION = 2
_RESTARTS = "restarts"


class ZooKeeperStore:
    """`StandingStore` over `StormcutNodes`."""

    def __init__(self, nodes: StormcutNodes) -> None:
        self._nodes = nodes

    def last_plan(self) -> Plan | None:
        """Return the published plan; one that cannot be read is logged and counts as none."""
        try:
            return self._nodes.read_plan()
        except InvalidInput as error:
            log.warning("last plan not used: %s", error)
            return None

    def restarts(self) -> tuple[Restarts, ...] | None:
        """Return which workers plans have restarted; what cannot be read is logged, and None."""
        try:
            document = self._nodes.read_marked(_RESTARTS, "a list of restarts", RESTARTS_VERSION)
            rows = [] if document is None else document["restarts"]
            since_s = self._nodes.age_s(_RESTARTS) if rows else 0.0
            return tuple(
                Restarts(float(moment) - since_s, str(name), int(count))
                for moment, name, count in rows
            )
        except (InvalidInput, KeyError, TypeError, ValueError) as error:
            message = "%s: the hour's restarts are not known, and count as spent"
            log.warning(message, error)
            return None

    def publish(self, plan: Plan, record: Record) -> None:
        """Write the plan, its history entry and the restarts in one transaction.

        Steps come first: one whose plan never came to be is passed over.
        """
        if not self._nodes.client.connected:
            what = f"no connection to ZooKeeper: plan {plan.id} was not published"
            raise Unavailable(what, plan.id)
        try:
            for topology, step in record.steps.items():
                append_step(self._nodes, topology, step)
            self._nodes.write_plan(plan, record.entry, {_RESTARTS: _document(record)})
        except Unavailable as error:
            raise Unavailable(f"plan {plan.id} was not published: {error}", plan.id) from error
        except KazooException as error:
            what = f"plan {plan.id} was not published: {type(error).__name__} {error}"
            raise Unavailable(what, plan.id) from error

    def has_plan(self) -> bool:
        """Return whether a plan is published."""
        return self._nodes.has_plan()

    def restore(self, plan: Plan) -> None:
        """Write a plan that the history knows."""
        self._nodes.write_plan(plan)


def _document(record: Record) -> Mapping[str, Any]:
    rows = [[each.at_s, each.topology, each.count] for each in record.restarts]
    return {"version": RESTARTS_VERSION, "restarts": rows}
