"""A request in hand: its frame, its connection, and the one answer it gets."""

from typing import TYPE_CHECKING, Any, Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.model import key_of, version_of
from trio_kafka.wire.frame import Frame
from trio_kafka.wire.server import Segments

if TYPE_CHECKING:
    from trio_kafka.network.connection import Connection

# What a request waits for that no handler has yet, or that is served in steps.
IN_QUEUE: Final = "a free handler"
IN_STEPS: Final = "turns of the loop"


@define(eq=False)
class Request:
    """One frame whose head is read.

    frame: valid until the request is answered or gives it back; None afterwards.
    code: key and version as one number (`wire.server.code_of`).
    """

    frame: Frame | None
    code: int
    correlation: int
    client_length: int  # of the client id in the frame; -1: null
    connection: "Connection"
    stamps: Stamps
    client_id: str = field(default="", init=False)
    route: Any = field(default=None, init=False)  # its handlers' own
    # While it is parked: a Delayed, or the function that is awaited; or IN_QUEUE, IN_STEPS.
    waits_for: Any = field(default=None, init=False)

    @property
    def key(self) -> int:
        return key_of(self.code)

    @property
    def version(self) -> int:
        return version_of(self.code)

    def give_back(self) -> None:
        """The frame is not needed any more, though the answer is to come: what was parked keeps no
        buffer.
        """
        if self.frame is not None:
            self.frame = None
            self.connection.framer.done()

    def respond(self, segments: Segments | None) -> None:
        """Answer, once. None: there is no answer (acks=0, or nobody to take it). Never waits."""
        self.frame = None
        if segments is not None:
            one = len(segments) == 1
            self.stamps.response_bytes = len(segments[0]) if one else sum(map(len, segments))
        self.connection.request = None
        self.connection.processor.answer(self, segments)

    def refuse(self, reason: str, detail: str) -> None:
        """End the connection instead of answering."""
        self.frame = None
        self.connection.request = None
        self.connection.processor.refuse(self, reason, detail)
