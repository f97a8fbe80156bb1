"""Errors of the clients that write their frames themselves."""

from trio_kafka.errors import ErrorCode


class GaveUpError(Exception):
    """A request had no usable answer within its time; its effect is unknown."""


class DeliveryError(Exception):
    """A part of a transaction was rejected, or its time is over: its effect is unknown."""


class AnswerError(Exception):
    """An error code of an answer."""

    def __init__(self, code: int) -> None:
        self.code = ErrorCode(code)
        super().__init__(self.code.name)


def check(code: int) -> None:
    """Raise AnswerError for an error code."""
    if code:
        raise AnswerError(code)
