"""A connection: a socket, its framer, and flags. Not a task: its owner, a processor, moves it."""

from collections.abc import Callable

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.stamps import Origin, Stamps
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.model import Endpoint
from trio_kafka.network.admission.slot import Slot
from trio_kafka.network.authenticator import Authenticator
from trio_kafka.network.outgoing import Outgoing
from trio_kafka.network.reasons import CloseReason, MuteReason, mute_reasons_text
from trio_kafka.network.request import ConnectionOwner, Request
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka.wire.frame import Framer
from trio_kafka.wire.server import Segments
from trio_kafka.world.protocols import Socket


@define(eq=False, repr=False)
class Connection:
    """State of one connection; only its owner changes it. Implements `ConnectionPort`.

    readable: the socket may have bytes. queued: in the ready queue of the reader.
    answers: sent at the end of the round. out: the rest of answers that the socket did not take.
    ending: why it is closed as soon as `out` is sent.
    flushing: the writer, or a cold read, will resume `out`.
    progress: `trio.current_time()` of the last pass in which the peer sent or took bytes.
    send_buffer, receive_buffer: bytes that the system was asked for; None: it chooses itself.
    authenticator: takes the frames before it may ask anything; None: it may.
    """

    socket: Socket
    owner: "ConnectionOwner[Connection]"
    framer: Framer
    key: int = field(init=False)
    peer: Endpoint = field(init=False)
    origin: Origin = field(init=False)
    send_buffer: int | None = field(init=False)
    receive_buffer: int | None = field(init=False)
    node: Node = field(init=False)
    muted: int = 0
    readable: bool = True  # bytes may have arrived before it was registered
    queued: bool = False
    left: bool = False
    closed: bool = False
    flushing: bool = False
    answers: list[tuple[Request, Segments]] | None = None
    out: Outgoing | None = None
    ending: tuple[CloseReason, str] | None = None
    request: Request | None = None
    parked: Callable[[], None] | None = None
    progress: float = 0.0
    requests: int = 0
    slot: Slot | None = None
    authenticator: Authenticator | None = None
    principal: Principal = NOBODY
    charged: Stamps | None = None
    raw_client_id: bytes = b""
    latest_client_id: str = ""

    def __attrs_post_init__(self) -> None:
        socket, listener = self.socket, self.owner.listener
        self.key, self.peer = socket.key, socket.peer
        self.send_buffer, self.receive_buffer = listener.send_buffer, listener.receive_buffer
        self.origin = Origin(
            peer=self.peer,
            local=socket.local,
            listener=listener.name,
            protocol=listener.security_protocol,
            number=0,
        )

    @property
    def listener(self) -> ListenerSettings:
        return self.owner.listener

    @property
    def software(self) -> tuple[str, str] | None:
        return self.origin.software

    @software.setter
    def software(self, name_and_version: tuple[str, str]) -> None:
        self.origin.software = name_and_version

    def mute(self, reason: MuteReason) -> None:
        """See `ConnectionPort.mute`."""
        self.owner.mute(self, reason)

    def unmute(self, reason: MuteReason) -> None:
        """See `ConnectionPort.unmute`."""
        self.owner.unmute(self, reason)

    def close(self, reason: CloseReason) -> None:
        """Close now."""
        self.owner.close(self, reason)

    def make_room_to_send(self, size: int) -> None:
        """Grow the send buffer for `size` bytes of files: each piece costs a wait and a wake."""
        if larger := self._larger(self.send_buffer, size):
            self.socket.make_room(sending=larger)
            self.send_buffer = larger

    def make_room_to_receive(self, size: int) -> None:
        """Grow the receive buffer for the `size` bytes of a frame that are to come."""
        if larger := self._larger(self.receive_buffer, size):
            self.socket.make_room(receiving=larger)
            self.receive_buffer = larger

    def _larger(self, buffer: int | None, size: int) -> int:
        """Return the size that a buffer grows to for `size` bytes; 0: it stays."""
        largest = self.listener.largest_buffer
        return largest if buffer is not None and buffer < min(size, largest) else 0

    @property
    def unsent_bytes(self) -> int:
        """See `ConnectionPort.unsent_bytes`."""
        return 0 if self.out is None else self.out.unsent_bytes

    def figures(self) -> Figures:
        software = self.software
        return {
            "peer": str(self.peer),
            "client_id": self.latest_client_id,
            "software": None if software is None else " ".join(software),
            "requests": self.requests,
            "muted": mute_reasons_text(self.muted),
            "buffer": self.framer.held,
            "tls": getattr(self.socket, "session", None),
            "tls_buffers": self.socket.kept,
            "send_buffer": self.send_buffer,
            "receive_buffer": self.receive_buffer,
            "unsent": self.unsent_bytes,
            "progress": self.progress,
        }
