"""The request log: what was asked, by whom, and how long each hop took; off unless it is wanted.

While it is off nothing of it is in the way of a request. While it is on an interceptor in front of
all others notes what is asked, and the line is written when the answer is sent, by a task, through
a bounded queue: what finds it full is dropped and counted, requests never wait for it. A connection
that reads the log's own topic is not logged for its fetches: each would bring forth the next.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.network.plane import Plane
from trio_kafka.requests.context import Context
from trio_kafka.requests.interceptors.registry import Interception, Interceptors
from trio_kafka.requests.request_log.lines import body_of, line_of
from trio_kafka.requests.request_log.sinks import Sink
from trio_kafka.security.principal import ANONYMOUS

FETCH: Final = 1
FIRST: Final = -(1 << 31)  # its order among interceptors
SLICE: Final = 16  # lines between two looks at the clock
WRITTEN: Final = 500  # lines at once
LARGE: Final = 64 << 10  # bytes of a request whose content is not noted
_NOT_NOTED: Final = object()
_logger: Final = get_logger(__name__)
Body = dict[str, Any]


@frozen(kw_only=True)
class Wanted:
    """What is logged. Every request is compared with this: each look-up is one call.

    apis: names in lower case, or keys; empty: all.
    clients: client ids; prefixes: beginnings of client ids; both empty: all.
    own_topic: the topic of the log, if there is one.
    """

    apis: frozenset[str] = frozenset()
    clients: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()
    own_topic: str = ""

    def has_client(self, client_id: str) -> bool:
        if not self.clients and not self.prefixes:
            return True
        return client_id in self.clients or client_id.startswith(self.prefixes)


class RequestLog:
    """Of one broker. `run` writes what was taken; `start` and `stop` say what is."""

    name = "request-log"
    in_flight = None

    def __init__(
        self,
        interceptors: Interceptors,
        planes: Sequence[Plane],
        node: Node,
        *,
        names: Callable[[int], str],
        topic_id: Callable[[str], bytes | None],
        elapsed: Callable[[], float],
        bound: int,
    ) -> None:
        """names: of APIs by key; topic_id: of a topic by its name; elapsed: as in stamps."""
        self._interceptors = interceptors
        self._planes = planes
        self._names = names
        self._topic_id = topic_id
        self._elapsed = elapsed
        self._bound = bound
        self._wanted = Wanted()
        self._sinks: Sequence[Sink] = ()
        self._interception: Interception | None = None
        self._queue: deque[tuple[Stamps, Body | None]] = deque()
        self._came = trio.Event()
        self._written_all = trio.Event()
        self._high_water = self._written = self._dropped = self._failed = 0
        node.add("request-log", "channel", self._figures)

    # --- on and off

    def start(self, wanted: Wanted, sinks: Sequence[Sink]) -> None:
        """Log this, there, from the next request on; what was taken already goes there too."""
        self._wanted, self._sinks = wanted, sinks
        for plane in self._planes:
            plane.request_metrics.follow(self._take)
        if self._interception is None:
            self._interception = self._interceptors.add(
                "before", None, self._note, order=FIRST, owner=self
            )

    def stop(self) -> None:
        """Log no more; what was taken is still written. Idempotent."""
        for plane in self._planes:
            plane.request_metrics.unfollow(self._take)
        if self._interception is not None:
            self._interceptors.remove(self._interception)
            self._interception = None

    def failed(self, error: BaseException, where: str) -> None:
        """The note of a request failed: part of what owners of interceptors have."""
        _logger.error("a request cannot be logged", where=where, reason=repr(error))

    # --- of each request, while it is on

    def _note(self, message: Any, context: Context) -> None:
        """Before all others: keep what is asked, until it is answered."""
        wanted, stamps = self._wanted, context.request.stamps
        key = stamps.key
        if not wanted.has_client(context.client_id):
            return
        if wanted.apis and not wanted.apis & {self._names(key).lower(), str(key)}:
            return
        if key == FETCH and self._reads_itself(message, stamps):
            return
        small = stamps.request_bytes <= LARGE
        stamps.body = body_of(message, context.version) if small else None

    def _reads_itself(self, message: Any, stamps: Stamps) -> bool:
        own = self._wanted.own_topic
        if not own:
            return False
        origin = stamps.origin
        if not origin.unlogged:
            topic_id = self._topic_id(own)
            origin.unlogged = any(
                own == one.topic or (topic_id is not None and one.topic_id == topic_id)
                for one in message.topics
            )
        return origin.unlogged

    def _take(self, stamps: Stamps) -> None:
        """It is sent: queue its line, if it was noted."""
        body: Any = getattr(stamps, "body", _NOT_NOTED)
        if body is _NOT_NOTED:
            return
        del stamps.body  # it is kept for a while as it went: without what it asked
        if len(self._queue) >= self._bound:
            self._dropped += 1
            return
        self._queue.append((stamps, body))
        self._high_water = max(self._high_water, len(self._queue))
        self._came.set()

    # --- the task

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Write lines until cancelled."""
        task_status.started()
        while True:
            self._written_all.set()
            await self._came.wait()
            self._came = trio.Event()
            self._written_all = trio.Event()
            while self._queue:
                lines = [self._line() for _ in range(min(len(self._queue), SLICE))]
                while self._queue and len(lines) < WRITTEN:
                    await trio.lowlevel.checkpoint()
                    lines += [self._line() for _ in range(min(len(self._queue), SLICE))]
                await self._write(lines)

    async def drain(self) -> None:
        """Until all that was taken is written."""
        await trio.lowlevel.checkpoint()
        while self._queue or not self._written_all.is_set():
            await self._written_all.wait()

    def _line(self) -> str:
        stamps, body = self._queue.popleft()
        return line_of(stamps, self._names(stamps.key), body, ANONYMOUS)

    async def _write(self, lines: list[str]) -> None:
        for sink in self._sinks:
            try:
                await sink.write(lines)
            except (OSError, KafkaError) as error:
                if not self._failed:
                    _logger.warning("the request log cannot be written", reason=str(error))
                self._failed += len(lines)
        self._written += len(lines)

    def _figures(self) -> Figures:
        oldest = self._queue[0][0].sent if self._queue else None
        return {
            "on": self._interception is not None,
            "depth": len(self._queue),
            "bound": self._bound,
            "high_water": self._high_water,
            "items": self._written,
            "dropped": self._dropped,
            "failed": self._failed,
            "oldest_s": None if oldest is None else self._elapsed() - oldest,
        }


def wanted_of(apis: Iterable[str], clients: Iterable[str], own_topic: str = "") -> Wanted:
    """As settings say it."""
    names = frozenset(one.lower() for one in apis)
    ids = tuple(clients)
    return Wanted(
        apis=names,
        clients=frozenset(one for one in ids if not one.endswith("*")),
        prefixes=tuple(one[:-1] for one in ids if one.endswith("*")),
        own_topic=own_topic,
    )
