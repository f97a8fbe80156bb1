"""docs/how-to/http.md: its settings are taken, its app is served, its table has the defaults."""

import re
from textwrap import indent
from typing import Any

import pytest
from trio.testing import MockClock

from tests.project.tree import ROOT
from trio_kafka.cli.machine import Machine
from trio_kafka.config.load import load
from trio_kafka.config.properties import parse_properties
from trio_kafka.plugin_host.settings import read_settings, settings_of_plugin
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_http.plugin import http

GUIDE = (ROOT / "docs" / "how-to" / "http.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)


def test_properties_in_the_http_guide_are_accepted_by_the_plugin() -> None:
    [text] = blocks("properties")
    loaded = load(parse_properties(text, "f"), outside=Machine({"HTTP_TOKEN": "secret"}))

    settings = read_settings(http, loaded.config.texts).own

    assert settings.token == "secret"
    assert settings.hosts == ("kafka.example",)


def test_http_guide_shows_the_default_of_each_setting() -> None:
    rows = re.findall(r"^\| `(plugin\.http\.[a-z.]+)` \| (\d+) \|", GUIDE, re.MULTILINE)
    settings = settings_of_plugin(http)

    assert {name: str(settings[name].default) for name, _ in rows} == dict(rows)
    assert len(rows) == 6


@pytest.mark.slow
async def test_example_app_in_the_http_guide_lists_the_topics(autojump_clock: MockClock) -> None:
    plugin_text, test_text = blocks("python")
    names: dict[str, Any] = {"__name__": "guide"}
    exec(plugin_text, names)
    exec(f"async def check(app):\n{indent(test_text, '    ')}", names)

    async with served_broker(simulated_world(), plugins=[names["topics"]]) as served:
        await served.create_topic("orders")
        mount = served.broker.plugins.dependencies.mounts.find("/topics")
        assert mount is not None

        await names["check"](mount.app)
