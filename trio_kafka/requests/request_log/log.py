"""Request log: the content and the client of each request, and the time of each hop.

While the log is off, requests do not pay for it. While it is on, an interceptor in front of all
others keeps the content of a request. When the response is sent, its line enters a bounded queue,
and a task writes it. A line that finds the queue full is discarded and counted; requests never
wait. Fetches of the log's own topic are not logged, because each would cause the next.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Final

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.network.plane import Plane
from trio_kafka.requests.context import Context
from trio_kafka.requests.interceptors.registry import Interception, Interceptors
from trio_kafka.requests.request_log.lines import format_line, request_body
from trio_kafka.requests.request_log.sinks import Sink
from trio_kafka.security.principal import ANONYMOUS

FETCH: Final = 1
FIRST: Final = -(1 << 31)  # the lowest order of an interceptor
SLICE: Final = 16  # lines formatted between two checkpoints
MAX_BATCH: Final = 500  # lines written together
LARGE: Final = 64 << 10  # bytes; the content of a larger request is not logged
_NOT_LOGGED: Final = object()
_logger: Final = get_logger(__name__)
Body = dict[str, object]


@frozen(kw_only=True)
class LogFilter:
    """Requests that are logged. The check of a request is a few look-ups.

    apis: API names in lower case, or keys; empty: all.
    clients: client ids. prefixes: prefixes of client ids. If both are empty: all.
    own_topic: topic of the log, if it has one.
    """

    apis: frozenset[str] = frozenset()
    clients: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()
    own_topic: str = ""

    def has_client(self, client_id: str) -> bool:
        """Return whether requests of a client are logged."""
        if not self.clients and not self.prefixes:
            return True
        return client_id in self.clients or client_id.startswith(self.prefixes)


@define(eq=False)
class RequestLog:
    """Request log of one broker. `run` writes lines; `start` and `stop` control which.

    names: returns the name of an API by key.
    topic_id: returns the id of a topic by name.
    elapsed: clock of the stamps.
    bound: size of the queue in lines.
    """

    name: ClassVar[str] = "request-log"
    in_flight: ClassVar[None] = None

    _interceptors: Interceptors
    _planes: Sequence[Plane]
    _node: Node
    _names: Callable[[int], str] = field(kw_only=True)
    _topic_id: Callable[[str], bytes | None] = field(kw_only=True)
    _elapsed: Callable[[], float] = field(kw_only=True)
    _bound: int = field(kw_only=True)
    _filter: LogFilter = field(factory=LogFilter, init=False)
    _sinks: Sequence[Sink] = field(default=(), init=False)
    _interception: Interception | None = field(default=None, init=False)
    _queue: deque[tuple[Stamps, Body | None]] = field(factory=deque, init=False)
    _arrived: trio.Event = field(factory=trio.Event, init=False)
    _written_all: trio.Event = field(factory=trio.Event, init=False)
    _high_water: int = field(default=0, init=False)
    _written: int = field(default=0, init=False)
    _dropped: int = field(default=0, init=False)
    _failed: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._node.add("request-log", "channel", self._figures)

    # --- on and off

    def start(self, requests: LogFilter, sinks: Sequence[Sink]) -> None:
        """Log requests that pass a filter, from the next one. Queued lines go to the new sinks."""
        self._filter, self._sinks = requests, sinks
        for plane in self._planes:
            plane.request_metrics.follow(self._enqueue)
        if self._interception is None:
            self._interception = self._interceptors.add(
                "before", None, self._keep_body, order=FIRST, owner=self
            )

    def stop(self) -> None:
        """Stop logging; queued lines are still written. Idempotent."""
        for plane in self._planes:
            plane.request_metrics.unfollow(self._enqueue)
        if self._interception is not None:
            self._interceptors.remove(self._interception)
            self._interception = None

    def failed(self, error: BaseException, where: str) -> None:
        """Log that the content of a request was not kept; called as owner of the interceptor."""
        _logger.error("request not logged", where=where, reason=repr(error))

    # --- each request, while the log is on

    def _keep_body(self, message: object, context: Context) -> None:
        """Keep the content of a request until it is answered; a `before` in front of all others."""
        requests, stamps = self._filter, context.request.stamps
        key = stamps.key
        if not requests.has_client(context.client_id):
            return
        if requests.apis and not requests.apis & {self._names(key).lower(), str(key)}:
            return
        if key == FETCH and self._fetches_own_topic(message, stamps):
            return
        small = stamps.request_bytes <= LARGE
        stamps.body = request_body(message, context.version) if small else None

    def _fetches_own_topic(self, message: Any, stamps: Stamps) -> bool:
        """Return whether the connection has fetched the log's own topic."""
        own = self._filter.own_topic
        if not own:
            return False
        origin = stamps.origin
        if not origin.unlogged:
            topic_id = self._topic_id(own)
            origin.unlogged = any(
                own == topic.topic or (topic_id is not None and topic.topic_id == topic_id)
                for topic in message.topics
            )
        return origin.unlogged

    def _enqueue(self, stamps: Stamps) -> None:
        """Queue the line of a request whose response is sent, if its content was kept."""
        body: Any = getattr(stamps, "body", _NOT_LOGGED)
        if body is _NOT_LOGGED:
            return
        del stamps.body  # recent stamps stay in memory without it
        if len(self._queue) >= self._bound:
            self._dropped += 1
            return
        self._queue.append((stamps, body))
        self._high_water = max(self._high_water, len(self._queue))
        self._arrived.set()

    # --- the task

    @waits_for_work("a request to log")
    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Write lines until cancelled."""
        task_status.started()
        while True:
            self._written_all.set()
            await self._arrived.wait()
            self._arrived = trio.Event()
            self._written_all = trio.Event()
            while self._queue:
                lines = [self._line() for _ in range(min(len(self._queue), SLICE))]
                while self._queue and len(lines) < MAX_BATCH:
                    await trio.lowlevel.checkpoint()
                    lines += [self._line() for _ in range(min(len(self._queue), SLICE))]
                await self._write(lines)

    async def drain(self) -> None:
        """Wait until all queued lines are written."""
        await trio.lowlevel.checkpoint()
        while self._queue or not self._written_all.is_set():
            await self._written_all.wait()

    def _line(self) -> str:
        stamps, body = self._queue.popleft()
        return format_line(stamps, self._names(stamps.key), body, ANONYMOUS)

    async def _write(self, lines: list[str]) -> None:
        for sink in self._sinks:
            try:
                await sink.write(lines)
            except (OSError, KafkaError) as error:
                if not self._failed:
                    _logger.warning("request log not written", reason=str(error))
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


def log_filter(apis: Iterable[str], clients: Iterable[str], own_topic: str = "") -> LogFilter:
    """Return the filter of settings: API names or keys, and client ids or prefixes with `*`."""
    names = frozenset(name.lower() for name in apis)
    ids = tuple(clients)
    return LogFilter(
        apis=names,
        clients=frozenset(client_id for client_id in ids if not client_id.endswith("*")),
        prefixes=tuple(client_id[:-1] for client_id in ids if client_id.endswith("*")),
        own_topic=own_topic,
    )
