"""The first stormcut.thrift of today's PROTOCOL_VERSION, and a brain that knows no other."""

from __future__ import annotations

import time
from pathlib import Path

import thriftpy2
from thriftpy2.thrift import TProcessor

from stormcut.adapters.thrift.brain import BrainServer
from stormcut.adapters.thrift.values import BinaryProtocol, ReadBuffer, WriteBuffer

#: As it was in commit 167da99. Who raises PROTOCOL_VERSION puts the new first one in its place.
FIRST = thriftpy2.load(
    str(Path(__file__).with_name("data") / "protocol" / "1-first.thrift"),
    module_name="first_protocol_thrift",
)


class FirstMind:
    """Puts each topology into one worker, on the first supervisor."""

    def __init__(self, server):
        self._server = server

    def plan(self, state):
        self._server.asked += 1
        (first, *_) = state.supervisors
        parts = [
            FIRST.TopologyPlan(
                topology=topology.id,
                workers=[
                    FIRST.Worker(
                        slot=FIRST.Slot(node=first.id, port=port),
                        executors=sorted(each.start_task for each in topology.executors),
                    )
                ],
                algorithm="first",
                reason="for the test",
            )
            for port, topology in zip(first.ports, state.topologies, strict=False)
        ]
        return FIRST.Plan(
            version=1,
            id="first-plan",
            fingerprint=state.fingerprint,
            created_ms=int(time.time() * 1000),
            topologies=parts,
            declined=[],
        )

    def health(self):
        return FIRST.Health(version=1, brain="b", leader=True, started_ms=1, plans_served=0)


class FirstBrain(BrainServer):
    """Frames and seals as today, decodes and answers as then."""

    def __init__(self, identity, seal):
        super().__init__(self, identity, seal, "127.0.0.1", 0)
        self.asked = 0

    def _answer(self, request, role):
        out = WriteBuffer()
        received, sent = BinaryProtocol(ReadBuffer(request.payload)), BinaryProtocol(out)
        TProcessor(FIRST.Brain, FirstMind(self)).process(received, sent)
        return out.content
