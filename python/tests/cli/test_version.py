"""One source for the version, `stormcut.__version__`; Maven and pages repeat it."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stormcut import __version__

CHECKOUT = Path(__file__).resolve().parents[3]
PLUGIN = CHECKOUT / "storm-plugin"
MAVEN = "{http://maven.apache.org/POM/4.0.0}"


@pytest.mark.parametrize("module", [".", "hook", "scheduler"])
def test_the_plugins_jars_have_the_version_of_the_package(module):
    pom = ElementTree.parse(PLUGIN / module / "pom.xml").getroot()
    own = pom.find(f"{MAVEN}version")
    its = pom.find(f"{MAVEN}parent/{MAVEN}version") if own is None else own
    assert its.text == __version__


def test_pages_name_the_jars_of_this_version():
    named = re.findall(
        r"stormcut-(?:hook|scheduler)-([\d.]+)\.jar", (PLUGIN / "README.md").read_text()
    )
    assert named and set(named) == {__version__}


def test_it_is_told_with_the_protocol_of_the_plugin(stormcut):
    code, out, _ = stormcut("--version")
    assert code == 0
    assert re.fullmatch(rf"stormcut {re.escape(__version__)} \(plugin protocol \d+\)\n", out)
