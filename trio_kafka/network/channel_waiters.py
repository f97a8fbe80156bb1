"""Requests that found the request channel full, and how they get in.

A connection waits here, muted, with its request; neither reader nor writer of its processor stops.
The channel calls when there is room, and the reader offers again, first come, first served.
"""

from collections import deque
from collections.abc import Callable

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.network import connection_events as events
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.connection import Connection
from trio_kafka.network.request import IN_QUEUE, Request


@define(eq=False)
class WaitingRoom:
    """Of one processor; `ring` wakes its reader."""

    _channel: RequestChannel
    _ring: Callable[[], None]
    most: int = field(default=0, init=False)  # that have waited at once
    room: bool = field(default=False, init=False)  # the channel has called
    _asked: bool = field(default=False, init=False)
    _waiting: deque[Connection] = field(factory=deque, init=False)

    def __len__(self) -> int:
        return len(self._waiting)

    def hand_over(self, connection: Connection, request: Request) -> None:
        """Into the channel, or behind those who wait for it already."""
        connection.request, request.waits_for = request, IN_QUEUE
        if not self._waiting:
            try:
                self._channel.offer(request)
            except trio.WouldBlock:
                pass
            else:
                return
        connection.muted |= events.CHANNEL_FULL
        self._waiting.append(connection)
        self.most = max(self.most, len(self._waiting))
        self._ask()

    def offer_again(self) -> None:
        """As many as there is room for."""
        self.room = False
        while self._waiting:
            connection = self._waiting[0]
            request = connection.request
            if not connection.closed and request is not None:
                try:
                    self._channel.offer(request)
                except trio.WouldBlock:
                    self._ask()
                    return
                connection.muted &= ~events.CHANNEL_FULL
            self._waiting.popleft()
        self._channel.call_next()  # the room that is left is another processor's

    def _ask(self) -> None:
        if not self._asked:
            self._asked = True
            self._channel.call_when_room(self._called)

    def _called(self) -> None:
        self.room, self._asked = True, False
        self._ring()
