import pytest
import trio

from trio_kafka.plugin_host.generation import describe
from trio_kafka.plugin_host.guard import PluginError

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


async def test_a_cancelled_is_described() -> None:
    told: list[str] = []
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.sleep_forever()
        except trio.Cancelled as error:
            told.append(describe(error))
            raise

    assert told == ["it raised a Cancelled that nothing requested"]
