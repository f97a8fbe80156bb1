"""Template of a plugin that serves an API."""

from typing import Final

ABOUT: Final = """It serves one API, `@CLASS@` (key @KEY@), which greets clients by name and
counts them."""
SETTINGS: Final = """\
| `plugin.@NAME@.greeting` | `Hello` | Word before the name. |
| `plugin.@NAME@.longest.name` | `100` | Longest name that is greeted. |"""
MODULE: Final = '''\
"""@CLASS@ (key @KEY@): greet clients by name, with a word from the settings."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from trio_kafka.attributes import frozen
from trio_kafka.plugin import (
    Context,
    ErrorCode,
    KafkaError,
    PluginContext,
    api,
    integer,
    plugin,
    string,
)
from trio_kafka.protocol import schema


@schema.request(key=@KEY@, versions="0", flexible="0+")
class @CLASS@Request:
    """Name to greet."""

    name: str = schema.string()


@schema.response(@CLASS@Request)
class @CLASS@Response:
    """Greeting, or an error."""

    error_code: int = schema.int16()
    error_message: str | None = schema.string(nullable="0+", default=None)
    text: str = schema.string()


@frozen(kw_only=True)
class @CLASS@Settings:
    """Settings `plugin.@NAME@.<name>`; a `_` in a field is a `.` in its setting."""

    greeting: str = string("Hello", "Word before the name.")
    longest_name: int = integer(100, "Longest name that is greeted.", low=1)


@plugin("@NAME@", settings=@CLASS@Settings)
@asynccontextmanager
async def @MODULE@(context: PluginContext[@CLASS@Settings]) -> AsyncIterator[None]:
    """Greet clients by name."""
    settings = context.settings
    greeted = context.counter("greeted")

    @api(@CLASS@Request)
    def greet(request: @CLASS@Request, _: Context) -> @CLASS@Response:
        if not 0 < len(request.name) <= settings.longest_name:
            found, most = len(request.name), settings.longest_name
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"a name of {found} characters: want 1 to {most}"
            )
        greeted.value += 1
        return @CLASS@Response(text=f"{settings.greeting}, {request.name}!")

    context.add_api(greet)
    yield  # ready; everything added is removed when the block ends
'''
TESTS: Final = '''\
"""The plugin in a simulated broker: no sockets, no files, virtual time."""

from collections.abc import Mapping

from @MODULE@ import @CLASS@Request, @MODULE@
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import run_simulated
from trio_kafka.world.simulated import Universe

INVALID_REQUEST = 42


def ask(name: str, settings: Mapping[str, str] | None = None) -> tuple[int, str, int]:
    """Return error code and text of a response, and the count of greetings."""

    async def main(universe: Universe) -> tuple[int, str, int]:
        world = universe.machine("broker")
        async with served_broker(world, settings, plugins=[@MODULE@]) as served:
            answer = await served.ask(@CLASS@Request(name))
            greeted = served.broker.counters.value("greeted", plugin="@NAME@")
            return answer.error_code, answer.text, greeted

    return run_simulated(main)


def test_it_greets() -> None:
    assert ask("Ada") == (0, "Hello, Ada!", 1)


def test_it_greets_in_the_words_of_its_settings() -> None:
    assert ask("Ada", {"plugin.@NAME@.greeting": "Good day"}) == (0, "Good day, Ada!", 1)


def test_it_refuses_a_name_that_is_too_long() -> None:
    assert ask("Ada", {"plugin.@NAME@.longest.name": "2"}) == (INVALID_REQUEST, "", 0)
'''
