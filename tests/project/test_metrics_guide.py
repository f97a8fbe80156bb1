"""docs/how-to/metrics.md: its table has the defaults, its plugin is told."""

import re
from typing import Any

import attrs
import trio
from trio.testing import MockClock

from tests.project.tree import ROOT
from trio_kafka.testing.harness import PluginHarness
from trio_kafka_metrics.plugin import MetricsSettings, metrics

GUIDE = (ROOT / "docs" / "how-to" / "metrics.md").read_text()


def test_metrics_guide_shows_the_default_of_each_setting() -> None:
    rows = dict(re.findall(r"^\| `plugin\.metrics\.([a-z.]+)` \| (\w+) \|", GUIDE, re.MULTILINE))
    defaults = attrs.asdict(MetricsSettings())

    assert {name.replace(".", "_"): text for name, text in rows.items()} == {
        name: str(value).lower() for name, value in defaults.items()
    }


async def test_example_plugin_in_the_metrics_guide_receives_metrics_every_interval(
    autojump_clock: MockClock,
) -> None:
    [source] = re.findall(r"^```python\n(.*?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__name__": "lag_plugin"}
    exec(source, names)

    async with PluginHarness((metrics, names["watch_lag"]), broker=True):
        await trio.sleep(61)

    assert len(names["lag"].seconds) == 2
