"""Waits of connections as data: why one is not read from, and why it is not written to."""

from collections.abc import Callable, Mapping
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.introspect.stamps import Origin
from trio_kafka.introspect.waits import Subject, Wait, WaitCause
from trio_kafka.network.connection import Connection
from trio_kafka.network.memory import MemoryPool
from trio_kafka.network.metered import MeteredFramer
from trio_kafka.network.reasons import MuteReason
from trio_kafka.network.request import ConnectionPort, Request
from trio_kafka.requests.handler_waits import BusyHandlers
from trio_kafka.requests.throttling.throttled import ThrottledRequest

_CLOSED: Final = "the connection is closed (connections.max.idle.ms)"
_NEVER: Final = float("inf")
_CLOSING: Final[dict[MuteReason, tuple[WaitCause, str]]] = {
    MuteReason.DRAINING: (
        "change",
        "nothing: it is closed as soon as its requests are answered",
    ),
    MuteReason.UNAUTHENTICATED: ("time", "the delay after a failed login; then it is closed"),
}
"""Cause and words of a connection that is closed soon."""


@frozen(kw_only=True)
class ConnectionWaits:
    """Waits of the connections of one plane, at one moment.

    throttled: those that exceeded a quota. now, quota_now_ms: `trio.current_time()`, and the clock
    of quotas. request_waits: returns what a request waits for.
    """

    plane: str
    handlers: BusyHandlers
    memory: MemoryPool | None
    throttled: Mapping[ConnectionPort, ThrottledRequest]
    now: float
    quota_now_ms: int
    request_waits: Callable[[Request], tuple[Wait, ...]]

    def of(self, connection: Connection) -> tuple[Wait, ...]:
        """Return a wait for each mute reason of a connection."""
        return tuple(
            wait
            for reason in MuteReason
            if connection.muted & reason and (wait := self._of_reason(connection, reason))
        )

    def _of_reason(self, connection: Connection, reason: MuteReason) -> Wait | None:
        match reason:
            case MuteReason.IN_FLIGHT:
                return self._answer_wait(connection)
            case MuteReason.CHANNEL_FULL:
                return self.handlers.room_waits()[0]
            case MuteReason.THROTTLED:
                throttled = self.throttled.get(connection)
                return None if throttled is None else throttled.wait(self.now, self.quota_now_ms)
            case MuteReason.MEMORY:
                return self._memory_wait(connection)
            case MuteReason.DRAINING | MuteReason.UNAUTHENTICATED:
                on = Subject("listener", connection.listener.name)
                return Wait(cause=_CLOSING[reason][0], words=_CLOSING[reason][1], on=on)
            case MuteReason.SENDING:
                return client_wait(connection, self.now)

    def _answer_wait(self, connection: Connection) -> Wait | None:
        """Return the wait for the answer to a request that waits itself; None: it is served."""
        request = connection.request
        waits = () if request is None else self.request_waits(request)
        if request is None or not waits:
            return None
        words = f"the answer to its request, which waits for {waits[0].words}"
        name = f"{connection_id(connection)}/{request.correlation}"
        return Wait(
            cause=waits[0].cause,
            words=words,
            on=Subject("request", name),
            age_s=waits[0].age_s,
            left_s=waits[0].left_s,
            then=waits[0].then,
        )

    def _memory_wait(self, connection: Connection) -> Wait:
        framer, memory = connection.framer, self.memory
        needs = framer.needed_bytes if isinstance(framer, MeteredFramer) else 0
        free = 0 if memory is None else max(memory.free, 0)
        line = 0 if memory is None else len(memory)
        words = f"{needs:,} bytes of request memory (queued.max.request.bytes), {line:,} in line"
        return Wait(
            cause="memory",
            words=words,
            on=Subject("limiter", f"memory-pool of plane {self.plane}"),
            needs=needs,
            has=free,
            unit="bytes",
        )


def client_wait(connection: ConnectionPort, now: float) -> Wait:
    """Return the wait for a client to read its answers. now: `trio.current_time()`."""
    unsent = connection.unsent_bytes
    silent_s, idle_s = max(now - connection.progress, 0.0), connection.listener.idle_s
    return Wait(
        cause="client",
        words=f"the client to read {unsent:,} more bytes of its answer",
        on=Subject("connection", connection_id(connection)),
        needs=unsent,
        has=0,
        unit="bytes",
        age_s=silent_s,
        left_s=None if idle_s == _NEVER else max(idle_s - silent_s, 0.0),
        then="" if idle_s == _NEVER else _CLOSED,
    )


def connection_id(port: ConnectionPort) -> str:
    """Return the id of a connection, as in the request log."""
    return origin_id(port.origin)


def origin_id(origin: Origin) -> str:
    """Return the id of the connection of requests."""
    return f"{origin.local}-{origin.peer}-{origin.number}"
