"""A small multilang topology, submitted through Nimbus's Thrift service: needs no build."""

from __future__ import annotations

import io
import json
import sys
import zipfile

from streamparse.thrift import (
    Bolt,
    ComponentCommon,
    ComponentObject,
    GlobalStreamId,
    Grouping,
    Nimbus,
    NullStruct,
    ShellComponent,
    SpoutSpec,
    StormTopology,
    StreamInfo,
)
from thriftpy2.rpc import client_context
from thriftpy2.transport import TFramedTransportFactory

SPOUT = """
import time
from pystorm import Spout

class Numbers(Spout):
    def initialize(self, conf, context):
        self.number = 0
    def next_tuple(self):
        self.number += 1
        self.emit([self.number], tup_id=self.number)
        time.sleep(0.01)

Numbers().run()
"""

BOLT = """
from pystorm import Bolt

class Sink(Bolt):
    def process(self, tup):
        pass

Sink().run()
"""


def submit(address: str, name: str, workers: int = 2) -> None:
    """Submit 2 spouts and 2 bolts in Python; return when Nimbus has accepted them."""
    host, _, port = address.rpartition(":")
    conf = {
        "topology.workers": workers,
        "topology.acker.executors": 1,
        "topology.stats.sample.rate": 1.0,
        "topology.message.timeout.secs": 10,
    }
    with client_context(
        Nimbus,
        host,
        int(port),
        trans_factory=TFramedTransportFactory(),
        socket_timeout=20_000,
    ) as nimbus:
        location = nimbus.beginFileUpload()
        nimbus.uploadChunk(location, _jar())
        nimbus.finishFileUpload(location)
        nimbus.submitTopology(name, location, json.dumps(conf), _topology())


def _topology() -> StormTopology:
    numbers = GlobalStreamId(componentId="numbers", streamId="default")
    spout = SpoutSpec(
        spout_object=_shell("spout.py"),
        common=ComponentCommon(
            inputs={},
            streams={"default": StreamInfo(output_fields=["number"], direct=False)},
            parallelism_hint=2,
            json_conf="{}",
        ),
    )
    sink = Bolt(
        bolt_object=_shell("bolt.py"),
        common=ComponentCommon(
            inputs={numbers: Grouping(shuffle=NullStruct())},
            streams={},
            parallelism_hint=2,
            json_conf="{}",
        ),
    )
    return StormTopology(spouts={"numbers": spout}, bolts={"sink": sink}, state_spouts={})


def _shell(script: str) -> ComponentObject:
    shell = ShellComponent(execution_command=sys.executable, script=script)
    return ComponentObject(shell=shell)


def _jar() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as jar:
        jar.writestr("resources/spout.py", SPOUT)
        jar.writestr("resources/bolt.py", BOLT)
    return content.getvalue()
