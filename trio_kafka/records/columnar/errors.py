"""Errors of the columnar codec: one for callers, with a position, and an internal one."""

from trio_kafka.errors import ErrorCode, KafkaError


class CorruptBatchError(KafkaError):
    """Raised for an invalid batch: CORRUPT_MESSAGE, or UNSUPPORTED_FOR_MESSAGE_FORMAT for magic 0
        and 1.

    position: first byte of the batch in the buffer. Records before it have been yielded.
    """

    def __init__(self, code: ErrorCode, message: str | None, position: int) -> None:
        super().__init__(code, message)
        self.position = position


class MalformedRecordsError(Exception):
    """Raised for a window with a malformed batch; `decode` finds out which one.

    Vectors over thousands of records detect the violation. The row codec, run on that batch, names
    rule and position.
    """


def corrupt_batch(error: KafkaError, position: int) -> CorruptBatchError:
    """Return the error with the position of its batch, also in its text."""
    message = error.message or error.code.name
    if f"position {position}" not in message and f"batch at {position}" not in message:
        message = f"{message}; batch at position {position}"
    return CorruptBatchError(error.code, message, position)
