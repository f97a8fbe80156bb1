"""Requests to a handler group without a network: frames in, responses as messages.

Framer, routes, interceptors, purgatories and codecs are the broker's own. A client is one
connection without a socket, with one request in flight at a time. A response with file ranges needs
a network (`served_broker`).
"""

from typing import Any, cast

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.metrics import Counters
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.introspect.tree import Node
from trio_kafka.model import Endpoint
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.connection import Connection
from trio_kafka.network.reasons import CloseReason
from trio_kafka.network.request import ConnectionOwner, Request
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.protocol.compiler import decoder
from trio_kafka.protocol.headers import response_header_version
from trio_kafka.protocol.schema import message_of
from trio_kafka.purgatory import Timers
from trio_kafka.requests.parts import Parts
from trio_kafka.requests.pool import HandlerGroup
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.testing.scripted_client import newest, request_frame
from trio_kafka.wire.frame import Buffers, Framer
from trio_kafka.wire.server import HEAD, Segments
from trio_kafka.wire.streamed import StreamedBody
from trio_kafka.world.memory import new_buffer
from trio_kafka.world.protocols import Socket
from trio_kafka.world.world import World

NEWEST = None  # in the place of a version: the newest stable one


class ClosedError(Exception):
    """Request without a response: its connection was closed, for `reason`."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


@define(eq=False)
class DirectGroup:
    """Handler group that serves direct clients only; `run` it in a task."""

    world: World
    parts: Parts
    counters: Counters = field(factory=Counters)
    node: Node = field(factory=lambda: Node("harness", "broker"))
    threads: int = 8
    listener: ListenerSettings = field(factory=ListenerSettings)
    budget: LoopBudget = field(init=False)
    channel: RequestChannel = field(init=False)
    timers: Timers = field(init=False)
    group: HandlerGroup = field(init=False)
    buffers: Buffers = field(init=False)
    connections: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        elapsed = self.world.clock.elapsed
        self.budget = LoopBudget(elapsed)
        self.channel = RequestChannel(500, self.node, elapsed)
        self.timers = Timers(self.node)
        self.buffers = Buffers(new_buffer)
        self.group = HandlerGroup(
            self.channel,
            self.parts,
            budget=self.budget,
            counters=self.counters,
            node=self.node,
            size=self.threads,
        )

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve until cancelled."""
        trio.lowlevel.add_instrument(self.budget)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self.timers.run)
                await self.group.run(task_status=task_status)
        finally:
            trio.lowlevel.remove_instrument(self.budget)

    def client(self, client_id: str | None = "harness") -> "DirectClient":
        """Return a client with a new connection."""
        self.connections += 1
        return DirectClient(self, self.connections, client_id)


@define(eq=False)
class _NoSocket:
    """Addresses of a connection without a socket."""

    key: int
    peer: Endpoint
    local: Endpoint
    kept: int = 0


class DirectClient:
    """One connection, which also owns itself: it takes the responses."""

    def __init__(self, group: DirectGroup, number: int, client_id: str | None) -> None:
        self.client_id = client_id
        self.listener = group.listener
        self._group = group
        self._elapsed = group.budget.elapsed
        server = Endpoint("127.0.0.1", 9092)
        client = Endpoint("127.0.0.1", 50000 + number % 15000)
        socket = cast("Socket", _NoSocket(number, client, server))
        framer = Framer(group.buffers, self.listener.largest_frame)
        self.connection = Connection(socket, cast("ConnectionOwner[Connection]", self), framer)
        self._answered = trio.Event()
        self._segments: Segments | None = None
        self._closed: ClosedError | None = None
        self._correlation = 0
        self._in_flight = False

    async def ask(self, request: object, version: int | None = NEWEST) -> Any:
        """Return the response to a request as a message; None if it has none (acks=0).

        Raises ClosedError if the connection is closed instead.
        """
        self.send(request, version)
        return await self.receive(request, version)

    def send(self, request: object, version: int | None = NEWEST) -> Request:
        """Send a request without waiting for its response."""
        if self._closed is not None:
            raise self._closed
        self._answered, self._segments = trio.Event(), None
        self._correlation += 1
        version = newest(type(request)) if version is None else version
        queued = self.arrive(
            request_frame(request, version, correlation=self._correlation, client_id=self.client_id)
        )
        if not (self._group.channel.idle and self._group.group.perform(queued)):
            self.connection.request = queued
            self._group.channel.offer(queued)
        return queued

    async def receive(self, request: object, version: int | None = NEWEST) -> object:
        """Wait for the response to the last request, and return it."""
        await self._answered.wait()
        if self._closed is not None:
            raise self._closed
        if self._segments is None:
            return None
        response = message_of(type(request)).response
        version = newest(type(request)) if version is None else version
        if response is None:
            raise TypeError(f"{type(request).__name__} has no response")
        data = b"".join(
            b"".join(segment) if isinstance(segment, StreamedBody) else segment
            for segment in self._segments
        )
        position = 8 + response_header_version(message_of(response), version)
        answer, end = decoder(response, version)(data, position)
        if end != len(data):
            raise ValueError(f"{len(data) - end} bytes behind the response")
        return answer

    def leave(self) -> None:
        """Disconnect, even while a request is in flight."""
        connection = self.connection
        connection.left = connection.closed = True
        if connection.parked is not None:
            connection.parked()

    def arrive(self, data: bytes) -> Request:
        """Return the request of a frame with its size, as a processor receives it."""
        framer, rest = self.connection.framer, memoryview(data)
        frame = None
        while frame is None:
            room = framer.room()
            size = min(len(room), len(rest))
            room[:size] = rest[:size]
            rest = rest[size:]
            frame = framer.received(size)
        self.connection.requests += 1
        self._in_flight = True
        now = self._elapsed()
        code, correlation, length = HEAD(frame, 0)
        stamps = Stamps(
            received=now,
            begun=now,
            code=code,
            correlation=correlation,
            request_bytes=len(frame),
            origin=self.connection.origin,
        )
        return Request(frame, code, correlation, length, self.connection, stamps)

    # --- the owner of the connection

    def answer(self, connection: Connection, request: Request, segments: Segments | None) -> None:
        """Take the response. Raises RuntimeError for a second one."""
        stamps = request.stamps
        if not self._in_flight:
            raise RuntimeError("a request was answered twice")
        self._in_flight = False
        stamps.answered = stamps.sending = self._elapsed()
        stamps.handled = stamps.handled or stamps.answered
        connection.framer.done()
        self._segments = segments
        self._answered.set()

    def refuse(
        self, connection: Connection, request: Request, reason: CloseReason, detail: str
    ) -> None:
        """Close the connection instead of a response."""
        del request
        connection.closed = True
        connection.framer.drop()
        self._closed = ClosedError(reason, detail)
        self._answered.set()
