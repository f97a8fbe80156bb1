"""Connection to a broker that may go away at any time."""

from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final, TypeVar

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint
from trio_kafka.testing.clients.errors import AnswerError, GaveUpError
from trio_kafka.testing.scripted_client import ScriptedClient, connect
from trio_kafka.world.world import World

T = TypeVar("T")
# The simulated network reports a machine that is down only after two minutes, as Linux does.
_CONNECT_S: Final = 3.0
_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 1.0
# The only broker leaves, or is too slow; clients meet these errors while it starts and stops.
_PASSING: Final = frozenset({ErrorCode.INVALID_REPLICATION_FACTOR, ErrorCode.BROKER_NOT_AVAILABLE})


@define(eq=False, kw_only=True)
class Link:
    """One connection, opened on demand and again after a failure. One request at a time.

    request_s: time for a connection and an answer, after which the connection is dropped.
    """

    world: World
    bootstrap: Endpoint
    client_id: str
    request_s: float = 5.0
    _client: ScriptedClient | None = field(default=None, init=False)
    _turn: trio.Lock = field(factory=trio.Lock, init=False)

    async def ask(self, request: object, version: int, *, more_s: float = 0.0) -> Any:
        """Send a request and return its answer.

        more_s: how long the broker may keep the request, beyond `request_s`.
        Raises OSError, also for a request that takes too long, and EOFError.
        """
        async with self._turn:
            try:
                with trio.fail_after(self.request_s + more_s):
                    client = await self._connected()
                    return await client.ask(request, version)
            except trio.TooSlowError:
                self.close()
                raise TimeoutError(f"no answer within {self.request_s + more_s} s") from None
            except BaseException:
                self.close()  # an answer that is still to come would be taken for another one
                raise

    async def send(self, data: bytes) -> None:
        """Send a request that has no answer."""
        async with self._turn:
            try:
                with trio.fail_after(self.request_s):
                    await (await self._connected()).send(data)
            except BaseException:
                self.close()
                raise

    async def _connected(self) -> ScriptedClient:
        if self._client is None:
            with trio.fail_after(_CONNECT_S):
                self._client = await connect(
                    self.world.network, self.bootstrap, client_id=self.client_id
                )
        return self._client

    def close(self) -> None:
        """Drop the connection; the next request opens another one."""
        client, self._client = self._client, None
        if client is not None:
            client.socket.abort()

    async def retry(
        self,
        attempt: Callable[[], Awaitable[T]],
        timeout_s: float,
        also: Collection[ErrorCode] = (),
    ) -> T:
        """Return the result of an attempt; repeat it after failures that may pass.

        also: errors of answers to retry, beside those that Kafka calls retriable.
        Raises AnswerError for other errors, GaveUpError when the time is over.
        """
        until = trio.current_time() + timeout_s
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                return await attempt()
            except (OSError, EOFError, trio.TooSlowError) as error:
                failure: Exception = error
            except AnswerError as error:
                if not (error.code.retriable or error.code in _PASSING or error.code in also):
                    raise
                failure = error
            if trio.current_time() + pause_s > until:
                raise GaveUpError(f"gave up after {timeout_s} s; the last failure: {failure}")
            await trio.sleep(pause_s * self.world.random.uniform(0.8, 1.2))
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
