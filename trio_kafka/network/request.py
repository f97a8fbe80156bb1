"""A request in flight: its frame, its connection, and the one answer it gets."""

from collections.abc import Callable
from typing import Any, Final, Protocol, Self, TypeVar

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.stamps import Origin, Stamps
from trio_kafka.model import Endpoint, key_of, version_of
from trio_kafka.network.reasons import CloseReason, MuteReason
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.security.principal import Principal
from trio_kafka.wire.frame import Frame, Framer
from trio_kafka.wire.server import Segments

# Values of `Request.waits_for` for a request without a handler, or one that is served in steps.
IN_QUEUE: Final = "a free handler"
IN_STEPS: Final = "its next slice of the loop"


C_contra = TypeVar("C_contra", contravariant=True)


class ConnectionOwner(Protocol[C_contra]):
    """Processor of connections of one class; the first argument is one of its own."""

    listener: ListenerSettings

    def answer(self, connection: C_contra, request: "Request", segments: Segments | None) -> None:
        """Send the answer of a request; None: it has none."""

    def refuse(
        self, connection: C_contra, request: "Request", reason: CloseReason, detail: str
    ) -> None:
        """Close the connection instead of answering a request."""

    def mute(self, connection: C_contra, reason: MuteReason) -> None:
        """See `ConnectionPort.mute`."""

    def unmute(self, connection: C_contra, reason: MuteReason) -> None:
        """See `ConnectionPort.unmute`."""

    def close(self, connection: C_contra, reason: CloseReason) -> None:
        """Close a connection now."""


class ConnectionPort(Protocol):
    """A connection, as requests, handlers and parts may use it.

    request: the request in flight, unless its reader serves it at once.
    parked: drops the wait of a parked request when the peer leaves.
    left: the peer sends no more. muted: bits of `MuteReason`.
    charged: stamps of the request that was last charged to a quota.
    latest_client_id: of the latest request; raw_client_id: as it was sent.
    progress: `trio.current_time()` of the last pass in which the peer sent or took bytes.
    """

    framer: Framer
    peer: Endpoint
    origin: Origin
    principal: Principal
    request: "Request | None"
    parked: Callable[[], None] | None
    left: bool
    closed: bool
    muted: int
    charged: Stamps | None
    latest_client_id: str
    raw_client_id: bytes
    progress: float

    @property
    def owner(self) -> ConnectionOwner[Self]: ...

    @property
    def unsent_bytes(self) -> int:
        """Bytes of answers that the socket has not taken."""

    @property
    def listener(self) -> ListenerSettings: ...

    @property
    def software(self) -> tuple[str, str] | None:
        """Name and version of the client, if it has sent them (KIP-511)."""

    @software.setter
    def software(self, name_and_version: tuple[str, str]) -> None: ...

    def mute(self, reason: MuteReason) -> None:
        """Add a mute reason, after the answers that are queued."""

    def unmute(self, reason: MuteReason) -> None:
        """Remove a mute reason, after the answers that are queued."""


@define(eq=False)
class Request:
    """One frame whose head was read.

    frame: valid until the request is answered or gives it back; None afterwards.
    code: key and version as one number (`model.code_of`).
    client_length: of the client id in the frame; -1: null.
    route: belongs to the handlers.
    waits_for: what it is parked on, a `Waiting`: a Delayed or a ParkedCall; or IN_QUEUE, IN_STEPS.
    """

    frame: Frame | None
    code: int
    correlation: int
    client_length: int
    connection: ConnectionPort
    stamps: Stamps
    client_id: str = field(default="", init=False)
    route: Any = field(default=None, init=False)
    waits_for: Any = field(default=None, init=False)

    @property
    def key(self) -> int:
        return key_of(self.code)

    @property
    def version(self) -> int:
        return version_of(self.code)

    def give_back(self) -> None:
        """Give the frame back before the answer: a parked request keeps no buffer."""
        if self.frame is not None:
            self.frame = None
            self.connection.framer.done()

    def respond(self, segments: Segments | None) -> None:
        """Answer, once; never waits. None: there is no answer (acks=0, or the peer has left)."""
        self.frame = None
        if segments is not None:
            is_single = len(segments) == 1
            self.stamps.response_bytes = len(segments[0]) if is_single else sum(map(len, segments))
        connection = self.connection
        connection.request = None
        connection.owner.answer(connection, self, segments)

    def refuse(self, reason: CloseReason, detail: str) -> None:
        """Close the connection instead of answering."""
        self.frame = None
        connection = self.connection
        connection.request = None
        connection.owner.refuse(connection, self, reason, detail)
