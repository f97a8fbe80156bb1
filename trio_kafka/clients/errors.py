"""Errors of clients: each names broker, topic and partition, and says what can be done.

`RetriableError`: the same call may succeed later. `AbortableError`: the transaction must be
aborted, then the client can be used on. `FatalError`: the client must be closed. An error that
belongs to none of them is about one record, topic or call. Every error has `sent`: True if a broker
may have acted on the call, and, for a record, if it may be in the log or still arrive there.
"""

from typing import Final, Self

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode


@frozen(kw_only=True)
class Place:
    """Subject of an error, as far as it is known. broker: name and address of the node."""

    broker: str | None = None
    topic: str | None = None
    partition: int | None = None
    group: str | None = None

    def __str__(self) -> str:
        parts = []
        if self.topic is not None:
            number = "" if self.partition is None else f"-{self.partition}"
            parts.append(f"{self.topic}{number}")
        if self.group is not None:
            parts.append(f"group {self.group}")
        if self.broker is not None:
            parts.append(f"at {self.broker}")
        return " ".join(parts)


NOWHERE: Final = Place()


class ClientError(Exception):
    """Root of all errors of clients.

    code: Kafka's error code if a broker has answered with one. sent: see the module.
    """

    def __init__(
        self,
        message: str,
        *,
        place: Place = NOWHERE,
        code: ErrorCode | None = None,
        sent: bool = False,
    ) -> None:
        where = str(place)
        name = "" if code is None else f"{code.name}: "
        super().__init__(f"{where}: {name}{message}" if where else f"{name}{message}")
        self.message = message
        self.place = place
        self.code = code
        self.sent = sent

    def again(self) -> Self:
        """Return a new error with the same content, for another task that learns of it.

        An exception that is raised in several tasks would collect the tracebacks of all.
        """
        return type(self)(self.message, place=self.place, code=self.code, sent=self.sent)

    @property
    def broker(self) -> str | None:
        return self.place.broker

    @property
    def topic(self) -> str | None:
        return self.place.topic

    @property
    def partition(self) -> int | None:
        return self.place.partition

    @property
    def group(self) -> str | None:
        return self.place.group


class RetriableError(ClientError):
    """The same call may succeed later."""


class AbortableError(ClientError):
    """The transaction cannot be committed; after its abort the client can be used on."""


class FatalError(ClientError):
    """The client can only be closed."""


class ClosedError(ClientError):
    """The client is closed, or was closed before the call had ended."""


class TimedOutError(RetriableError, TimeoutError):
    """A deadline has passed: `max.block.ms`, `delivery.timeout.ms`, `request.timeout.ms`."""


class NotKafkaError(RetriableError):
    """The peer does not speak Kafka's protocol: a wrong port, TLS, or a damaged answer."""


class TopicError(ClientError):
    """A topic that does not exist, has a wrong name, or that the client may not use."""


class UnsupportedError(FatalError):
    """The broker serves no version of a request that the client needs."""


class BufferExhaustedError(TimedOutError):
    """No memory (`buffer.memory`) became free within `max.block.ms`."""


class RecordTooLargeError(ClientError):
    """A record above `max.request.size`, `buffer.memory`, or the limit of its topic."""


class SerializationError(ClientError):
    """A serializer or partitioner raised, or returned something else than it should."""


class OutOfOrderSequenceError(ClientError):
    """The broker misses batches of this producer, or was restarted and has this one already."""


class ProducerFencedError(FatalError):
    """Another producer with the same `transactional.id` has taken over."""


class NoOffsetError(ClientError):
    """No committed offset, and `auto.offset.reset` is none."""


class OffsetOutOfRangeError(ClientError):
    """The log does not have the offset, or was truncated before it; there is no reset."""


class CommitFailedError(ClientError):
    """The group has given the partitions to other members: the offsets were not committed."""


class RebalanceInProgressError(RetriableError):
    """The group rebalances: the member may commit after its next read, which takes part in it."""


class AuthorizationError(ClientError):
    """The client may not do what it has tried."""


class AuthenticationError(FatalError):
    """The broker does not accept the client's credentials, or the client not the broker's."""


_AUTHENTICATION: Final = frozenset(
    {
        ErrorCode.SASL_AUTHENTICATION_FAILED,
        ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        ErrorCode.ILLEGAL_SASL_STATE,
    }
)
_AUTHORIZATION: Final = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
_BY_CODE: Final[dict[ErrorCode, type[ClientError]]] = {
    **dict.fromkeys(_AUTHENTICATION, AuthenticationError),
    **dict.fromkeys(_AUTHORIZATION, AuthorizationError),
    ErrorCode.MESSAGE_TOO_LARGE: RecordTooLargeError,
    ErrorCode.RECORD_LIST_TOO_LARGE: RecordTooLargeError,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: OutOfOrderSequenceError,
    ErrorCode.PRODUCER_FENCED: ProducerFencedError,
    ErrorCode.INVALID_TOPIC_EXCEPTION: TopicError,
    ErrorCode.UNSUPPORTED_VERSION: UnsupportedError,
    ErrorCode.TRANSACTION_ABORTABLE: AbortableError,
    ErrorCode.REQUEST_TIMED_OUT: TimedOutError,
}


def error_of(code: int) -> ErrorCode:
    """Return the error of a response; UNKNOWN_SERVER_ERROR for a number that is not known here."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def client_error(
    code: ErrorCode, message: str | None = None, *, place: Place = NOWHERE, sent: bool = False
) -> ClientError:
    """Return the error for a code in a response. message: the broker's own text, if any."""
    kind = _BY_CODE.get(code)
    if kind is None:
        kind = RetriableError if code.retriable else ClientError
    return kind(message or "the broker's answer", place=place, code=code, sent=sent)
