"""Echo (key 10110) returns a text; Listen (key 10111) waits for the echoes of other clients.

The plugin has state: echoes are kept for a while, a task removes old ones, and the tree shows their
number. Echo never waits. Listen waits for at most `plugin.echo.longest.wait.ms` and holds no
handler meanwhile. Neither needs a permission.
"""

from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from itertools import dropwhile
from typing import ClassVar

import trio
from attrs import define, field, frozen

from trio_kafka.plugin import (
    Context,
    ErrorCode,
    Figure,
    KafkaError,
    PluginContext,
    api,
    integer,
    plugin,
    string,
)
from trio_kafka.protocol import schema


@schema.request(key=10110, versions="0-1", flexible="0+")
class EchoRequest:
    """A text, and (v1) the number of repetitions."""

    response: ClassVar[type["EchoResponse"]]

    text: str = schema.string()
    times: int = schema.int32("1+", default=1)


@schema.response(EchoRequest)
class EchoResponse:
    """The text, and its number among all echoes."""

    error_code: int = schema.int16()
    error_message: str | None = schema.string(nullable="0+", default=None)
    text: str = schema.string()
    number: int = schema.int64(default=-1)


@schema.request(key=10111, versions="0", flexible="0+")
class ListenRequest:
    """Ask for echoes after a number; wait for `wait_ms` if there are none."""

    response: ClassVar[type["ListenResponse"]]

    after: int = schema.int64(default=-1)
    wait_ms: int = schema.int32(default=0)


@schema.struct
class Echo:
    number: int = schema.int64()
    client_id: str = schema.string()
    text: str = schema.string()


@schema.response(ListenRequest)
class ListenResponse:
    """Echoes, oldest first; empty if none came in time."""

    error_code: int = schema.int16()
    error_message: str | None = schema.string(nullable="0+", default=None)
    echoes: list[Echo] = schema.array(Echo)


@frozen(kw_only=True)
class EchoSettings:
    """`plugin.echo.<name>`; a `_` of a field is a `.` of its setting."""

    prefix: str = string("", "Text before each echo.")
    longest: int = integer(1000, "Largest number of characters in an answer.", low=1, high=100_000)
    most: int = integer(100, "Number of echoes that are kept.", low=1, high=10_000)
    keep_ms: int = integer(60_000, "Time for which an echo is kept.", low=1)
    longest_wait_ms: int = integer(5_000, "Longest wait of a Listen request.", low=0)


@define(eq=False)
class Echoes:
    """Latest echoes, each with its expiry time (s), and the listeners that wait for more.

    Numbers ascend. There are at most `most`; a new echo replaces the oldest.
    """

    most: int
    count: int = field(default=0, init=False)
    listeners: int = field(default=0, init=False)
    _kept: deque[tuple[float, Echo]] = field(init=False)
    _changed: trio.Event = field(factory=trio.Event, init=False)

    def __attrs_post_init__(self) -> None:
        self._kept = deque(maxlen=self.most)

    def add(self, client_id: str, text: str, until: float) -> int:
        """Add an echo, wake the listeners, and return its number."""
        number, self.count = self.count, self.count + 1
        self._kept.append((until, Echo(number, client_id, text)))
        self._changed.set()
        self._changed = trio.Event()
        return number

    def after(self, number: int) -> list[Echo]:
        return [echo for _, echo in dropwhile(lambda kept: kept[1].number <= number, self._kept)]

    async def wait_after(self, number: int) -> list[Echo]:
        """Return the echoes after `number`, at least one."""
        self.listeners += 1
        try:
            while not (newer := self.after(number)):
                await self._changed.wait()
        finally:
            self.listeners -= 1
        return newer

    def forget(self, now: float) -> None:
        """Remove expired echoes."""
        while self._kept and self._kept[0][0] <= now:
            self._kept.popleft()

    def figures(self) -> dict[str, Figure]:
        return {"echoed": self.count, "kept": len(self._kept), "listeners": self.listeners}


@plugin("echo", settings=EchoSettings)
@asynccontextmanager
async def echo(context: PluginContext[EchoSettings]) -> AsyncIterator[None]:
    """Return texts, and pass them on to listeners."""
    settings = context.settings
    echoes = Echoes(settings.most)
    echoed = context.counter("echoed")

    @api(EchoRequest)
    def give_back(request: EchoRequest, its: Context) -> EchoResponse:
        if request.times < 1:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{request.times} times, want 1 or more")
        # The length comes first: a text of a billion characters must not be built to be rejected.
        length = len(settings.prefix) + len(request.text) * request.times
        if length > settings.longest:
            message = f"an answer of {length} characters, want at most {settings.longest}"
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
        text = settings.prefix + request.text * request.times
        echoed.value += 1
        until = trio.current_time() + settings.keep_ms / 1000
        return EchoResponse(text=text, number=echoes.add(its.client_id, text, until))

    @api(ListenRequest)
    async def listen(request: ListenRequest, its: Context) -> ListenResponse:
        wait_s = min(max(request.wait_ms, 0), settings.longest_wait_ms) / 1000
        ends = trio.current_time() + wait_s
        try:
            newer = await its.parked(echoes.wait_after, request.after, deadline=ends)
        except trio.TooSlowError:
            newer = echoes.after(request.after)
        return ListenResponse(echoes=newer)

    context.add_api(give_back)
    context.add_api(listen)
    with context.node.child("echoes", "part", echoes.figures):
        context.nursery.start_soon(upkeep, echoes.forget, settings.keep_ms / 1000, name="upkeep")
        yield
    context.logger.info("echoes end", echoed=echoes.count)


async def upkeep(forget: Callable[[float], None], keep_s: float) -> None:
    """Remove expired echoes, at most half their lifetime late."""
    while True:
        await trio.sleep(keep_s / 2)
        forget(trio.current_time())
