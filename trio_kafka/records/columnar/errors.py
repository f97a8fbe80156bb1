"""Errors of the columnar codec: one for callers, with a position, and one that stays inside."""

from trio_kafka.errors import ErrorCode, KafkaError


class CorruptBatchError(KafkaError):
    """A batch cannot be read: CORRUPT_MESSAGE, or UNSUPPORTED_FOR_MESSAGE_FORMAT for magic 0 and 1.

    position: first byte of the batch in the buffer. Records before it have been yielded.
    """

    def __init__(self, code: ErrorCode, message: str | None, position: int) -> None:
        super().__init__(code, message)
        self.position = position


class MalformedRecordsError(Exception):
    """Some batch of a window is malformed; which one, `decode` finds out.

    Vectors over thousands of records know that a rule is broken, and the row codec, run on the one
    batch, says which rule and where.
    """


def corrupt_batch(error: KafkaError, position: int) -> CorruptBatchError:
    """Return the error with the position of its batch, which its text names too."""
    message = error.message or error.code.name
    if f"position {position}" not in message and f"batch at {position}" not in message:
        message = f"{message}; batch at position {position}"
    return CorruptBatchError(error.code, message, position)
