"""Connections whose authentication has failed: answered and closed after a delay.

The delay, `connection.failed.authentication.delay.ms`, slows down a client that tries passwords,
and one that connects again at once. The answer comes before the close, as clients retry for ever
after a close without a reason. Source: KIP-306.
"""

from collections import deque
from typing import Final, NoReturn

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.network.connection import Connection
from trio_kafka.network.reasons import CloseReason, MuteReason
from trio_kafka.network.sending import AnswerSender

_A_TURN: Final = 100  # connections closed between two checkpoints


@define(eq=False)
class FailedAuthentications:
    """Queue of the failed connections of one processor; at most as many as it has connections."""

    _sender: AnswerSender
    _delay_s: float
    _waiting: deque[tuple[float, Connection, bytes | None, str]] = field(factory=deque, init=False)
    _changed: trio.Event = field(factory=trio.Event, init=False)

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, connection: Connection, answer: bytes | None, reason: str) -> None:
        """Mute a connection, and answer and close it later."""
        connection.muted |= MuteReason.UNAUTHENTICATED
        if not self._delay_s:
            self._close(connection, answer, reason)
            return
        deadline = trio.current_time() + self._delay_s
        self._waiting.append((deadline, connection, answer, reason))
        self._changed.set()

    async def run(self) -> NoReturn:
        """Close connections when their delay is over, until cancelled."""
        while True:
            await self._changed.wait()
            for _ in range(_A_TURN):
                if not self._waiting or self._waiting[0][0] > trio.current_time():
                    break
                self._close(*self._waiting.popleft()[1:])
            if self._waiting:
                await trio.sleep_until(self._waiting[0][0])
            else:
                self._changed = trio.Event()

    def _close(self, connection: Connection, answer: bytes | None, reason: str) -> None:
        if connection.closed:
            return
        if answer is not None:
            self._sender.send_now(connection, answer)
        if not connection.closed:
            self._sender.end(connection, CloseReason.UNAUTHENTICATED, reason)
