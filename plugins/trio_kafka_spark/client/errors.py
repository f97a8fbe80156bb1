"""Errors of the source, the sink and their client; each says what was found and what to do.

A Python data source cannot raise Spark's own error classes. A SourceError carries the condition of
the official connector (or one of ours), and its text begins with it: `[KAFKA_DATA_LOSS] ...`.
All of them survive pickling, with which Spark carries them from a worker to the driver.
"""

from typing import Final, Self

from trio_kafka.model import TopicPartition

DATA_LOSS: Final = "KAFKA_DATA_LOSS"
UNKNOWN_TOPIC: Final = "KAFKA_UNKNOWN_TOPIC"
UNAVAILABLE: Final = "KAFKA_UNAVAILABLE"
TIMED_OUT: Final = "KAFKA_READ_TIMED_OUT"
NOT_AUTHENTICATED: Final = "KAFKA_AUTHENTICATION_FAILED"
NOT_ALLOWED: Final = "KAFKA_AUTHORIZATION_FAILED"
REJECTED: Final = "KAFKA_REQUEST_REJECTED"
PROTOCOL: Final = "KAFKA_PROTOCOL_ERROR"
CORRUPT: Final = "KAFKA_CORRUPT_RECORDS"
UNSUPPORTED: Final = "KAFKA_UNSUPPORTED_VERSION"
FENCED: Final = "KAFKA_PRODUCER_FENCED"


class OptionError(ValueError):
    """An option that is unknown, refused or malformed."""

    def __init__(self, option: str, reason: str) -> None:
        super().__init__(option, reason)
        self.option = option
        self.reason = reason

    def __str__(self) -> str:
        return f"option {self.option}: {self.reason}"


class SourceError(RuntimeError):
    """A read or a write that has failed, after all retries that make sense."""

    def __init__(self, condition: str, message: str) -> None:
        super().__init__(condition, message)
        self.condition = condition
        self.message = message

    def __str__(self) -> str:
        return f"[{self.condition}] {self.message}"


class FencedError(SourceError):
    """A transaction that its coordinator has ended, or given to another producer: it is lost."""

    @classmethod
    def of(cls, work: str) -> Self:
        """Return the error. work: what was asked of the broker, and its answer."""
        return cls(
            FENCED,
            f"{work}: this transaction was ended: another producer has begun one with its id, or"
            " it was open for longer than transactionTimeoutMs",
        )


class UnknownTopicError(SourceError):
    """A topic or partition that does not exist, or no longer, or was created again meanwhile."""

    def __init__(self, topic: str, message: str) -> None:
        RuntimeError.__init__(self, topic, message)
        self.condition = UNKNOWN_TOPIC
        self.topic = topic
        self.message = message


class OffsetOutOfRangeError(SourceError):
    """An offset that the partition does not hold: deleted by retention, or not written yet."""

    def __init__(
        self, tp: TopicPartition, offset: int, log_start: int, high_watermark: int
    ) -> None:
        RuntimeError.__init__(self, tp, offset, log_start, high_watermark)
        self.condition = DATA_LOSS
        self.tp = tp
        self.offset = offset
        self.log_start = log_start
        self.high_watermark = high_watermark
        self.message = (
            f"offset {offset} of {tp} is out of range: the partition has offsets"
            f" {log_start} to {high_watermark}; records were deleted, or were never written"
        )


class AuthenticationError(SourceError):
    """Credentials, or a certificate, that the other side does not accept: no retry helps."""

    def __init__(self, message: str) -> None:
        RuntimeError.__init__(self, message)
        self.condition = NOT_AUTHENTICATED
        self.message = message
