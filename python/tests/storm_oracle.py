"""Storm's own scheduler classes and the plugin's, in a JVM that answers one state after another."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from stormcut.adapters.machine.home import plugin_jars, storm_java, storm_lib

SOURCE = Path(__file__).parents[2] / "integration-tests" / "oracle" / "SchedulerOracle.java"
SILENCE = '<Configuration><Loggers><Root level="off"/></Loggers></Configuration>'


class StormOracle:
    """`integration-tests/oracle/SchedulerOracle.java`, which says what its lines are."""

    def __init__(self, classes):
        logging = classes / "log4j2.xml"
        logging.write_text(SILENCE)
        scheduler = str(plugin_jars().scheduler)
        classpath = os.pathsep.join((str(storm_lib() / "*"), scheduler, str(classes)))
        command = ["javac", "--release", "8", "-Xlint:-options", "-cp", classpath]
        subprocess.run([*command, "-d", classes, SOURCE], check=True)
        self._process = subprocess.Popen(
            [
                storm_java() / "bin" / "java",
                "-XX:TieredStopAtLevel=1",
                f"-Dlog4j.configurationFile={logging}",
                "-Dfile.encoding=UTF-8",
                *("-cp", classpath, "io.stormcut.SchedulerOracle"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def forget(self):
        """Let the plugin forget the plans that it has seen."""
        self._process.stdin.write("RESET\n")

    def ask(self, name, state, heap_mb=768.0):
        """Return the lines that a scheduler answers to the lines of a state."""
        sent = self._process.stdin
        sent.writelines(f"{line}\n" for line in (*state, f"RUN\t{name}\t{heap_mb}"))
        sent.flush()
        lines = iter(self._process.stdout.readline, "DONE\n")
        answer = []
        for line in lines:
            assert line, "the oracle has ended"
            answer.append(line.rstrip("\n"))
        return answer

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        assert self._process.wait() == 0
