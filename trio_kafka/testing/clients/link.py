"""Requests of a test's own making to a broker that may go away at any time.

For what `trio_kafka.clients` does not send: requests of a version that the test names, of a
producer that is fenced, or of many connections in one moment.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint
from trio_kafka.peers.backoff import Backoff
from trio_kafka.peers.link import StreamLink
from trio_kafka.peers.session import Profile, Request, Session
from trio_kafka.testing.clients.errors import AnswerError, GaveUpError
from trio_kafka.world.world import World

T = TypeVar("T")
# The simulated network reports a machine that is down only after two minutes, as Linux does.
_CONNECT_S: Final = 3.0
# The only broker leaves, or is too slow; clients meet these errors while it starts and stops.
_PASSING: Final = frozenset({ErrorCode.INVALID_REPLICATION_FACTOR, ErrorCode.BROKER_NOT_AVAILABLE})


@define(eq=False, kw_only=True)
class Link:
    """Link to the only broker, with versions that the caller names. One request at a time.

    request_s: time for a connection and an answer, after which the connection is dropped.
    """

    world: World
    bootstrap: Endpoint
    client_id: str
    request_s: float = 5.0
    _link: StreamLink = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._link = StreamLink(
            name="broker",
            world=self.world,
            address=lambda: self.bootstrap,
            session=lambda: Session(Profile(client_id=self.client_id)),
            connect_s=_CONNECT_S,
        )

    async def ask(self, request: Request[T], version: int, *, more_s: float = 0.0) -> T:
        """Send a request and return its answer.

        more_s: how long the broker may keep the request, beyond `request_s`.
        Raises OSError, also for a request that takes too long.
        """
        deadline = trio.current_time() + self.request_s + more_s
        return await self._link.ask(request, deadline=deadline, at_most=version)

    def close(self) -> None:
        """Drop the connection; the next request opens another one."""
        self._link.close()

    async def retry(self, attempt: Callable[[], Awaitable[T]], timeout_s: float) -> T:
        """Return the result of an attempt; repeat it after failures that may pass.

        Raises AnswerError for other errors, GaveUpError when the time is over.
        """
        until = trio.current_time() + timeout_s
        backoff, failures = Backoff(), 0
        while True:
            try:
                return await attempt()
            except (OSError, EOFError) as error:
                failure: Exception = error
            except AnswerError as error:
                if not (error.code.retriable or error.code in _PASSING):
                    raise
                failure = error
            failures += 1
            pause_s = backoff.pause_s(failures, self.world.random.random())
            if trio.current_time() + pause_s > until:
                raise GaveUpError(f"gave up after {timeout_s} s; the last failure: {failure}")
            await trio.sleep(pause_s)
