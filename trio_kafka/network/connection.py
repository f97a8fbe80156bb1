"""A connection: a socket, its framer, and flags. Not a task: its processor moves it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from trio_kafka.introspect.stamps import Origin, Stamps
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.model import Endpoint
from trio_kafka.network.connection_events import words_of
from trio_kafka.network.outgoing import Outgoing
from trio_kafka.network.request import Request
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.security.principal import NOBODY
from trio_kafka.wire.frame import Frame, Framer
from trio_kafka.wire.server import Segments, raw_client_id
from trio_kafka.world.protocols import Socket

if TYPE_CHECKING:
    from trio_kafka.network.admission.slot import Slot
    from trio_kafka.network.processor import Processor


class Connection:
    """State of one connection; only its processor changes it."""

    __slots__ = (
        "_client_id",
        "_client_raw",
        "answers",
        "charged",
        "closed",
        "ending",
        "flushing",
        "framer",
        "key",
        "left",
        "muted",
        "node",
        "origin",
        "out",
        "parked",
        "peer",
        "principal",
        "processor",
        "progress",
        "queued",
        "readable",
        "receive_buffer",
        "request",
        "requests",
        "send_buffer",
        "slot",
        "socket",
    )

    def __init__(self, socket: Socket, processor: "Processor", framer: Framer) -> None:
        self.socket = socket
        self.key = socket.key
        self.peer: Endpoint = socket.peer
        self.processor = processor
        self.framer = framer
        self.muted = 0  # bits of `items`
        self.readable = True  # bytes may have come before it was registered
        self.queued = False  # in the ready list
        self.left = False  # its peer sends no more
        self.closed = False
        self.flushing = False  # a Flush is queued
        self.answers: list[tuple[Request, Segments]] | None = None  # for the end of the turn
        self.out: Outgoing | None = None  # the rest of answers
        self.ending: tuple[str, str] | None = None  # why it is closed as soon as `out` is gone
        # The one in hand, unless its reader serves it at once; also while it waits for room.
        self.request: Request | None = None
        self.parked: Callable[[], None] | None = None  # drops what waits for the peer's sake
        self.progress = (
            0.0  # trio.current_time() of the last pass in which it asked or took something
        )
        self.requests = 0
        self.slot: Slot | None = None  # its place among the connections
        self.node: Node
        listener = processor.listener
        # Bytes that were asked of the system for its buffers; None: it chooses itself.
        self.send_buffer = listener.send_buffer
        self.receive_buffer = listener.receive_buffer
        self.origin = Origin(self.peer, socket.local, listener.name, listener.security_protocol, 0)
        self.principal = NOBODY
        self.charged: Stamps | None = None  # of the request that was last held against a quota
        self._client_raw = b""
        self._client_id = ""

    @property
    def listener(self) -> ListenerSettings:
        return self.processor.listener

    @property
    def software(self) -> tuple[str, str] | None:
        """Name and version of the client, if it has told them (KIP-511)."""
        return self.origin.software

    @software.setter
    def software(self, told: tuple[str, str]) -> None:
        self.origin.software = told

    def client_id(self, frame: Frame, length: int) -> str:
        """The client id of a request: nearly always that of the request before.

        Raises ProtocolError if it is longer than the frame, UnicodeDecodeError if it is no text.
        """
        known: Any = self._client_raw
        if length != len(known) or frame[10 : 10 + length] != known:
            raw = raw_client_id(frame, length) or b""
            self._client_id = raw.decode()
            self._client_raw = raw
        return self._client_id

    def make_room_to_send(self, size: int) -> None:
        """So much of files is to be sent: a wait and a wake for each piece cost more than it."""
        if larger := self._larger(self.send_buffer, size):
            self.socket.make_room(sending=larger)
            self.send_buffer = larger

    def make_room_to_receive(self, size: int) -> None:
        """So much of a frame is to come: what the socket cannot hold its peer waits with."""
        if larger := self._larger(self.receive_buffer, size):
            self.socket.make_room(receiving=larger)
            self.receive_buffer = larger

    def _larger(self, buffer: int | None, size: int) -> int:
        """What a buffer of so many bytes grows to for `size` of them; 0: it stays."""
        largest = self.processor.listener.largest_buffer
        return largest if buffer is not None and buffer < min(size, largest) else 0

    def figures(self) -> Figures:
        software = self.software
        return {
            "peer": str(self.peer),
            "client_id": self._client_id,
            "software": None if software is None else " ".join(software),
            "requests": self.requests,
            "muted": words_of(self.muted),
            "buffer": self.framer.held,
            "send_buffer": self.send_buffer,
            "receive_buffer": self.receive_buffer,
            "unsent": 0 if self.out is None else self.out.left,
            "progress": self.progress,
        }
