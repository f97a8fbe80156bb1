import logging

import pytest
import trio
from trio.testing import MockClock

from tests.plugin_host.plugins import echo
from trio_kafka.plugin_host.generation import describe
from trio_kafka.plugin_host.guard import PluginError
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world

# The life of a generation is tested by tests/plugin_host/test_hostile.py and test_reload.py.


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("why"), "ValueError: why"),
        (ValueError(), "ValueError"),
        (PluginError("as it is"), "as it is"),
        (
            ExceptionGroup("g", [ValueError("a"), ExceptionGroup("h", [OSError("b")])]),
            "ValueError: a; OSError: b",
        ),
    ],
)
def test_an_error_is_described_in_one_line(error: BaseException, text: str) -> None:
    assert describe(error) == text


async def test_an_unrequested_cancelled_exception_is_described() -> None:
    descriptions: list[str] = []
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.sleep_forever()
        except trio.Cancelled as error:
            descriptions.append(describe(error))
            raise

    assert descriptions == ["it raised a Cancelled that nothing requested"]


async def test_start_and_stop_of_a_plugin_are_logged_at_info_once_each(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "trio_kafka.plugin_host")
    async with served_broker(simulated_world(), plugins=[echo]):
        pass

    changes = [
        (record.levelname, record.fields["state"])  # type: ignore[attr-defined]
        for record in caplog.records
        if record.getMessage() == "plugin state changed"
    ]
    assert [state for level, state in changes if level == "INFO"] == ["ready", "stopped"]
    assert [state for level, state in changes if level == "DEBUG"] == [
        "validated",
        "starting",
        "draining",
    ]
