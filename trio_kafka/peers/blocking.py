"""Blocking connection, for programs without Trio: the command line, Spark's workers, scripts.

Requests may be pipelined: `send` several, then `receive` in the same order. After an OSError or a
ProtocolError a connection is of no more use: close it. A caller that must connect again opens
another one. Deadlines are times of `time.monotonic`.
"""

import contextlib
import select
import socket
import time
from collections.abc import Callable, Iterator
from typing import Final, TypeVar, cast

from trio_kafka.model import Endpoint
from trio_kafka.peers.session import Handshake, Profile, Request, Session

A = TypeVar("A")
_LONGEST_S: Final = 1e6  # a socket takes no endless timeout


class BlockingConnection:
    """Connection over a connected socket, which it owns from now on, also if opening it fails.

    deadline: of the handshake. Raises OSError, ProtocolError, and what the handshake raises.
    """

    def __init__(self, connected: socket.socket, session: Session, *, deadline: float) -> None:
        self.session = session
        self._socket = connected
        try:
            self._send(session.begin(deadline=deadline), deadline)
            while not session.is_open:
                self._receive(deadline)
        except BaseException:
            self.close()
            raise

    def fileno(self) -> int:
        """Return the descriptor of the socket, for select."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the socket, whatever is in flight. Idempotent."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def ask(self, request: Request[A], *, deadline: float, at_most: int | None = None) -> A:
        """Send a request and return its response. Nothing else may be in flight.

        at_most: highest version that the caller has the data for.
        Raises OSError, TimeoutError among them; ProtocolError; KafkaError(UNSUPPORTED_VERSION).
        """
        self.send(request, deadline=deadline, at_most=at_most)
        return cast("A", self.receive())

    def send(
        self,
        request: object,
        *,
        deadline: float,
        at_most: int | None = None,
        is_answered: bool = True,
    ) -> None:
        """Send a request, after the end of a throttle. Raises as `ask` does.

        deadline: also of its response, unless `receive` names another one.
        is_answered: False for a request without a response (Produce with acks=0).
        """
        data = self.session.send(
            request, deadline=deadline, at_most=at_most, is_answered=is_answered
        )
        pause_s = self.session.not_before - time.monotonic()
        if pause_s > 0:
            time.sleep(min(pause_s, left_s(deadline)))
        self._send(data, deadline)

    def receive(self, *, deadline: float | None = None) -> object:
        """Return the response to the oldest request in flight. Raises as `ask` does.

        deadline: None: the earliest of the requests in flight.
        """
        if deadline is None:
            deadline = self.session.deadline
        while True:
            response = self._receive(deadline)
            if response is not None:
                return response

    def is_ready(self, timeout_s: float = 0.0) -> bool:
        """Return whether a response has begun to arrive, or the stream has ended, within a time."""
        # A TLS socket may hold bytes. Importing `ssl` for its class would slow commands down.
        pending = getattr(self._socket, "pending", None)
        if pending is not None and pending():
            return True
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))

    def _send(self, data: bytes, deadline: float) -> None:
        self._socket.settimeout(left_s(deadline))
        self._socket.sendall(data)

    def _receive(self, deadline: float) -> object | None:
        self._socket.settimeout(left_s(deadline))
        count = self._socket.recv_into(self.session.room())
        progress = self.session.received(count, time.monotonic())
        while progress.work is not None:
            progress = self.session.worked(progress.work.call(), time.monotonic())
        if progress.to_send:
            self._send(progress.to_send, deadline)
        return progress.response


def left_s(deadline: float) -> float:
    """Return the seconds until the deadline. Raises TimeoutError once it has passed."""
    seconds = min(deadline - time.monotonic(), _LONGEST_S)
    if seconds <= 0:
        raise TimeoutError("timed out")
    return seconds


@contextlib.contextmanager
def connected(
    address: Endpoint,
    *,
    deadline: float,
    client_id: str,
    secure: Callable[[socket.socket, Endpoint], socket.socket] | None = None,
    handshake: Callable[[], Handshake | None] = lambda: None,
) -> Iterator[BlockingConnection]:
    """Connect to a broker for the duration of the block.

    secure: wraps the socket, such as in TLS. handshake: makes that of the session.
    Raises as `BlockingConnection`.
    """
    session = Session(Profile(client_id=client_id), handshake())
    plain = socket.create_connection((address.host, address.port), left_s(deadline))
    with contextlib.closing(plain if secure is None else secure(plain, address)) as open_socket:
        yield BlockingConnection(open_socket, session, deadline=deadline)
