import json
import logging
import subprocess
import sys
from datetime import datetime

from stormcut.adapters.machine.log_lines import JsonLines

LINES = JsonLines()


def line_of(message, *args, plan=None, exc_info=None):
    logger = logging.getLogger("stormcut.test")
    extra = None if plan is None else {"plan": plan}
    record = logger.makeRecord(
        logger.name, logging.WARNING, __file__, 1, message, args, exc_info, extra=extra
    )
    text = LINES.format(record)
    assert "\n" not in text
    return json.loads(text)


def test_a_record_is_one_object():
    line = line_of("plan %s in %.2f s", "p1", 0.5, plan="p1")
    moment = line.pop("time")
    assert moment.endswith("Z") and datetime.fromisoformat(moment).tzinfo is not None
    assert line == {
        "level": "WARNING",
        "logger": "stormcut.test",
        "message": "plan p1 in 0.50 s",
        "plan": "p1",
    }


def test_what_concerns_no_plan_names_none_and_lines_within_are_kept():
    line = line_of('two\nlines "quoted" é')
    assert "plan" not in line and line["message"] == 'two\nlines "quoted" é'


def test_an_exception_is_part_of_the_object():
    try:
        raise ValueError("no\nway")
    except ValueError:
        line = line_of("it failed", exc_info=sys.exc_info())
    assert "Traceback" in line["exception"] and "ValueError: no\nway" in line["exception"]


def test_both_formats_on_standard_error():
    program = (
        "import logging, sys; from stormcut.adapters.machine.log_lines import log_to_stderr;"
        "log_to_stderr(sys.argv[1]); logging.getLogger('a').info('it is %s', 1)"
    )
    said = {
        style: subprocess.run(
            [sys.executable, "-c", program, style], capture_output=True, text=True, check=True
        )
        for style in ("text", "json")
    }
    assert said["text"].stderr.endswith("INFO    it is 1\n")
    assert json.loads(said["json"].stderr)["message"] == "it is 1"
    assert said["text"].stdout == said["json"].stdout == ""
