"""How a request from within is asked: encoded as a client's, handed over, and waited for."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, cast

import trio

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.model import Endpoint
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.connection import Connection, ConnectionOwner
from trio_kafka.network.outgoing import release
from trio_kafka.network.reasons import CloseReason, MuteReason
from trio_kafka.network.request import IN_QUEUE, Request
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.protocol.compiler import decoder_in_steps
from trio_kafka.protocol.headers import response_header_version
from trio_kafka.protocol.schema import message_of
from trio_kafka.records.file_range import FileRange
from trio_kafka.requests.large_requests import coarse
from trio_kafka.requests.loopback.in_process import HERE, Group, InProcess, RefusedError
from trio_kafka.security.principal import Principal
from trio_kafka.wire.client import ClientSide
from trio_kafka.wire.frame import Frame, Framer
from trio_kafka.wire.server import HEAD, Segments
from trio_kafka.world.protocols import RangeCutError, Socket

LISTENER: Final = ListenerSettings(name="in-process", security_protocol="INTERNAL")
_SIZE: Final = 4


async def ask(
    door: InProcess,
    group: Group,
    caller: "Caller",
    request: object,
    *,
    client_id: str,
    version: int | None,
) -> Any:
    """See `InProcess.ask`."""
    message = message_of(type(request))
    response = message.response
    if response is None:
        raise TypeError(f"{message.name} is no request with a response")
    version = _version(door, message.name, message.key, version)
    frame = ClientSide(client_id).ask(request, version, answered=False)
    made, connection = caller.arrive(memoryview(bytearray(frame))[_SIZE:])
    number = door.asked = door.asked + 1
    door.connections[number] = connection
    door.most = max(door.most, len(door.connections))
    try:
        await _hand_over(made, connection, door.channel)
        await caller.answered.wait()
        data = await caller.read()
    finally:
        caller.leave(connection)
        del door.connections[number]
    _count(door, made, group.elapsed())
    door.throttled += caller.is_throttled
    answer = None
    if data is not None:
        position = 2 * _SIZE + response_header_version(message_of(response), version)
        decode = decoder_in_steps(response, version)
        answer, _ = await group.run_steps(coarse(decode(memoryview(data), position)))
    await caller.unthrottled.wait()
    return answer


def _version(door: InProcess, name: str, key: int | None, version: int | None) -> int:
    api = None if key is None else door.apis.get(key)
    if api is None:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{name} is not served")
    if version is None:
        return api.last
    if not api.first <= version <= api.last:
        served = f"{api.first} to {api.last} are served"
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{name} version {version}: {served}")
    return version


async def _hand_over(request: Request, connection: Connection, channel: RequestChannel) -> None:
    """Into the request channel, behind those who wait for room in it already."""
    connection.request, request.waits_for = request, IN_QUEUE
    while True:
        try:
            channel.offer(request)
        except trio.WouldBlock:
            room = trio.Event()
            channel.call_when_room(partial(_tell_room, channel, connection, room))
            try:
                await room.wait()
            except trio.Cancelled:
                connection.closed = True
                if room.is_set():
                    channel.call_next()
                raise
        else:
            return


def _tell_room(channel: RequestChannel, connection: Connection, room: trio.Event) -> None:
    if connection.closed:  # it does not wait any more
        channel.call_next()
    room.set()


def _count(door: InProcess, request: Request, sent: float) -> None:
    stamps, times = request.stamps, door.times()
    stamps.client_id = request.client_id
    if times is not None:
        times.of(request.key).add(stamps, sent)
        if times.log is not None:
            times.log(stamps)


class _NoSocket:
    """What a connection says of its socket."""

    def __init__(self, peer: Endpoint) -> None:
        self.key = -1
        self.peer = peer
        self.local = HERE


class _NoFramer:
    """A frame that is nobody else's: nothing is given back."""

    held = 0
    pending = False
    buffer = None

    def done(self) -> None:
        """The frame is not needed any more."""

    def drop(self) -> None:
        """Nor is what came of it."""


class Caller:
    """Who waits for one answer; the processor of its connection, which it does not keep: they would
    be a cycle that holds the answer until somebody looks for garbage.
    """

    name: Final = LISTENER.name
    listener: Final = LISTENER

    def __init__(self, elapsed: Callable[[], float], peer: Endpoint, principal: Principal) -> None:
        self._elapsed = elapsed
        self._peer = peer
        self._principal = principal
        self._segments: Segments | None = None
        self._refused: tuple[str, str] | None = None  # reason and detail
        self.answered = trio.Event()
        self.unthrottled = trio.Event()
        self.is_throttled = False
        self.unthrottled.set()

    def arrive(self, frame: Frame) -> tuple[Request, Connection]:
        """The request of a frame, and its connection, which has no other."""
        connection = Connection(
            cast("Socket", _NoSocket(self._peer)),
            cast("ConnectionOwner", self),
            cast("Framer", _NoFramer()),
        )
        connection.principal = self._principal
        now = self._elapsed()
        code, correlation, length = HEAD(frame, 0)
        stamps = Stamps(now, now, code, correlation, len(frame), connection.origin)
        connection.requests = 1
        return Request(frame, code, correlation, length, connection, stamps), connection

    async def read(self) -> bytes | None:
        """The bytes of the answer, those of files too."""
        if self._refused is not None:
            raise RefusedError(*self._refused)
        if self._segments is None:
            await trio.lowlevel.checkpoint()
            return None
        found: list[Any] = []
        for segment in self._segments:
            if isinstance(segment, FileRange):
                try:
                    found.append(await segment.lease.read(segment.position, segment.left))
                except RangeCutError as error:
                    raise RefusedError(CloseReason.TRUNCATED, str(error)) from None
            else:
                found.append(segment)
        return b"".join(found)

    def leave(self, connection: Connection) -> None:
        """It waits no more; whatever comes is given up."""
        if not self.answered.is_set():
            connection.left = connection.closed = True
            if connection.parked is not None:
                connection.parked()
        if self._segments is not None:
            release(self._segments)

    # --- as the processor of the connection

    def answer(self, connection: Connection, request: Request, segments: Segments | None) -> None:
        """Keep the answer."""
        stamps = request.stamps
        stamps.answered = stamps.sending = self._elapsed()
        stamps.handled = stamps.handled or stamps.answered
        if connection.closed:
            release(segments or ())
            return
        self._segments = segments
        self.answered.set()

    def refuse(
        self, connection: Connection, request: Request, reason: CloseReason, detail: str
    ) -> None:
        """There is no answer."""
        del connection
        stamps = request.stamps
        stamps.answered = stamps.sending = self._elapsed()
        stamps.handled = stamps.handled or stamps.answered
        self._refused = reason, detail
        self.answered.set()

    def mute(self, connection: Connection, reason: MuteReason) -> None:
        """Keep the answer back until the connection is not throttled any more."""
        del connection, reason
        self.is_throttled = True
        self.unthrottled = trio.Event()

    def unmute(self, connection: Connection, reason: MuteReason) -> None:
        """Let the answer go."""
        del connection, reason
        self.unthrottled.set()
