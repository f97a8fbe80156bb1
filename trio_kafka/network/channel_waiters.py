"""Connections whose request waits for room in the request channel.

Such a connection is muted and keeps its request; neither reader nor writer of its processor stops.
The channel calls when it has room, and the reader offers the requests again, in order. A processor
that stops closes its place in the channel's line, as others wait behind it.
"""

from collections import deque
from collections.abc import Callable

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.network.channel import RequestChannel, RoomCall
from trio_kafka.network.connection import Connection
from trio_kafka.network.reasons import MuteReason
from trio_kafka.network.request import IN_QUEUE, Request


@define(eq=False)
class ChannelWaiters:
    """Waiting connections of one processor.

    ring: wakes its reader. most: that have waited at once. has_room: the channel has called.
    """

    _channel: RequestChannel
    _ring: Callable[[], None]
    most: int = field(default=0, init=False)
    has_room: bool = field(default=False, init=False)
    _place: RoomCall | None = field(default=None, init=False)
    _waiting: deque[Connection] = field(factory=deque, init=False)

    def __len__(self) -> int:
        return len(self._waiting)

    def hand_over(self, connection: Connection, request: Request) -> None:
        """Put a request into the channel, or behind those that wait for room already."""
        connection.request, request.waits_for = request, IN_QUEUE
        if not self._waiting:
            try:
                self._channel.offer(request)
            except trio.WouldBlock:
                pass
            else:
                return
        connection.muted |= MuteReason.CHANNEL_FULL
        self._waiting.append(connection)
        self.most = max(self.most, len(self._waiting))
        self._register()

    def offer_again(self) -> None:
        """Offer requests until the channel is full; pass the call on if room is left."""
        self.has_room = False
        while self._waiting:
            connection = self._waiting[0]
            request = connection.request
            if not connection.closed and request is not None:
                try:
                    self._channel.offer(request)
                except trio.WouldBlock:
                    self._leave_line()
                    self._register()
                    return
                connection.muted &= ~MuteReason.CHANNEL_FULL
            self._waiting.popleft()
        self._leave_line()

    def close(self) -> None:
        """Forget all waiting connections, which are closed, and leave the line. Idempotent."""
        self._waiting.clear()
        self.has_room = False
        self._leave_line()

    def _register(self) -> None:
        if self._place is None:
            self._place = self._channel.call_when_room(self._called)

    def _leave_line(self) -> None:
        if self._place is not None:
            self._place.close()
            self._place = None

    def _called(self) -> None:
        self.has_room = True
        self._ring()
