"""docs/how-to/control-plane.md: its settings are taken, its command changes what it says."""

import re

from trio.testing import MockClock

from tests.apis.configs import BROKER, SET, alter
from tests.project.tree import ROOT
from trio_kafka.config.load import load
from trio_kafka.config.properties import parse_properties
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world

GUIDE = (ROOT / "docs" / "how-to" / "control-plane.md").read_text()
[PROPERTIES] = re.findall(r"^```properties\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
[LISTENERS] = re.findall(r"--add-config 'listeners=\[(.*?)\]'", GUIDE)


def settings() -> dict[str, str]:
    return dict(line.split("=", 1) for line in PROPERTIES.splitlines())


def test_properties_in_the_guide_configure_a_control_plane_listener() -> None:
    config = load(parse_properties(PROPERTIES, "guide")).config

    assert config.endpoints.control == "CONTROL"


async def test_broker_of_the_control_plane_guide_accepts_the_listener_change(
    autojump_clock: MockClock,
) -> None:
    properties = settings()
    properties["listener.security.protocol.map"] += ",INSIDE:PLAINTEXT"
    here = LISTENERS.replace("10.0.0.1", "127.0.0.1")  # an address that this machine has

    async with served_broker(simulated_world(), properties) as served:
        assert await alter(served, BROKER, "1", ("listeners", SET, here)) == (0, None)

        assert list(served.broker.endpoints) == ["PLAINTEXT", "CONTROL", "INSIDE"]
