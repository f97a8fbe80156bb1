"""Which plugins come in, and what keeps a broker from starting."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from tests.plugin_host.packages import write
from tests.plugin_host.plugins import echo
from trio_kafka.broker import StartError
from trio_kafka.plugin import plugin
from trio_kafka.plugin_host.lifecycle import State
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of the path with a plugin that cannot be imported."""
    monkeypatch.syspath_prepend(str(tmp_path))
    write(tmp_path, "broken", {"broken.py": "raise SystemExit('no')\n"}, {"broken": "broken:it"})
    return tmp_path


async def test_a_plugin_that_cannot_be_imported_fails_alone(
    autojump_clock: MockClock, site: Path
) -> None:
    async with served_broker(simulated_world(), plugins=None) as served:
        hosted = served.broker.plugins.find("broken")
        assert hosted.state is State.FAILED
        assert hosted.error == "the import of entry point broken = broken:it failed: SystemExit: no"
        assert not (await served.ask(ApiVersionsRequest(), 0)).error_code


@pytest.mark.parametrize("setting", ["policy=fatal", "rules=all", "enabled=true"])
async def test_a_plugin_that_settings_name_and_that_cannot_be_imported_prevents_the_broker_start(
    autojump_clock: MockClock, site: Path, setting: str
) -> None:
    name, _, text = setting.partition("=")

    with pytest.raises(StartError) as raised:
        async with served_broker(simulated_world(), {f"plugin.broken.{name}": text}, plugins=None):
            pass

    message = str(raised.value)
    assert "plugin broken: the import of entry point broken = broken:it failed" in message
    assert "SystemExit: no" in message
    assert "plugin.broken.enabled=false" in message


async def test_a_closed_plugin_whose_name_is_taken_prevents_the_broker_start(
    autojump_clock: MockClock,
) -> None:
    @plugin("echo", closed=True)
    @asynccontextmanager
    async def guard(context: Any) -> AsyncIterator[None]:
        yield

    with pytest.raises(StartError, match="the name echo is taken by"):
        async with served_broker(simulated_world(), plugins=[echo, guard]):
            pass


async def test_the_second_entry_point_of_a_name_fails_alone_when_it_cannot_be_imported_either(
    autojump_clock: MockClock, site: Path
) -> None:
    write(site, "worse", {"worse.py": "import nothing_there\n"}, {"broken": "worse:it"})

    async with served_broker(simulated_world(), plugins=None) as served:
        states = {
            hosted.name: hosted.state
            for hosted in served.broker.plugins.plugins
            if hosted.name.startswith("broken")
        }

    assert len(states) == 2
    assert set(states.values()) == {State.FAILED}


async def test_a_disabled_plugin_is_not_imported(autojump_clock: MockClock, site: Path) -> None:
    settings = {"plugin.broken.enabled": "false"}
    async with served_broker(simulated_world(), settings, plugins=None) as served:
        hosted = served.broker.plugins.find("broken")
        assert (hosted.state, hosted.enabled, hosted.error) == (State.DISCOVERED, False, "")
