"""Errors of requests to other nodes.

Besides these, an ask raises KafkaError(UNSUPPORTED_VERSION) if the peer serves no version of the
request that is known here, and ProtocolError if the peer does not speak Kafka's protocol.
"""

from trio_kafka.errors import ProtocolError


class PeerError(OSError):
    """A connection that did not open, or that ended before the response.

    sent: True if the peer may have received the request, and may have acted on it.
    """

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class DeadlineError(PeerError, TimeoutError):
    """No response before the deadline."""


class DamagedAnswerError(ProtocolError):
    """An answer that is not one of Kafka's protocol. sent: see `PeerError`."""

    def __init__(self, message: str, *, sent: bool) -> None:
        super().__init__(message)
        self.sent = sent


class StreamEndedError(ConnectionResetError):
    """The peer ended the stream before the end of a response. missing: bytes, as far as known."""

    def __init__(self, missing: int) -> None:
        super().__init__(f"the peer closed the connection, {missing} bytes are missing")
        self.missing = missing
