"""Which plugins come in, and what keeps a broker from starting."""

from pathlib import Path

import pytest
from trio.testing import MockClock

from tests.plugin_host.packages import write
from trio_kafka.broker import StartError
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


async def test_a_fatal_plugin_that_cannot_be_imported_prevents_the_broker_start(
    autojump_clock: MockClock, site: Path
) -> None:
    with pytest.raises(StartError, match="plugin broken: the import of entry point broken"):
        async with served_broker(
            simulated_world(), {"plugin.broken.policy": "fatal"}, plugins=None
        ):
            pass


async def test_a_disabled_plugin_is_not_imported(autojump_clock: MockClock, site: Path) -> None:
    settings = {"plugin.broken.enabled": "false"}
    async with served_broker(simulated_world(), settings, plugins=None) as served:
        hosted = served.broker.plugins.find("broken")
        assert (hosted.state, hosted.enabled, hosted.error) == (State.DISCOVERED, False, "")
