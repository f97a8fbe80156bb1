"""A call: the items that it is about, where each goes, its requests, and how answers are read.

A plan is a generator of one or several calls: it yields a call, is sent its results, and returns
the value for the user. Plans do no I/O, so both clients run the same ones.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Final, Generic, TypeVar, cast

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.calls.targets import Target
from trio_kafka.clients.errors import NOWHERE, Place
from trio_kafka.errors import ErrorCode
from trio_kafka.peers.session import Request

A = TypeVar("A")
K = TypeVar("K")
R = TypeVar("R")

# Errors after which the place of an item is looked up again.
MOVED: Final = frozenset(
    {
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
RETRIED: Final = MOVED | {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.OFFSET_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_LEADER_EPOCH,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED,
}


@frozen
class Rejection:
    """Error of one item in an answer. code: Kafka's number. message: the broker's text, if any."""

    code: int
    message: str | None = None


@frozen
class Later:
    """Result of an item that a later answer completes: the next page."""


LATER: Final = Later()


def nowhere(_item: object) -> Place:
    """Return the place of an item that is in no topic, partition or group."""
    return NOWHERE


@frozen(kw_only=True)
class Call(Generic[K, A, R]):
    """Requests about items, each of which goes to one broker.

    targets: items, in order, and the broker of each. request: returns the request for items of one
    broker; its second argument is the time that the broker may take, in ms. read: returns a result
    for each item that a response names; takes the response and the items of the request. Items that
    are read LATER are asked for again at once.
    place: of an item, for errors. most: items of one request. at_most: see `Session.send`.
    retried: errors of items that are tried again.
    older: takes over if a broker serves no version that can carry the request.
    """

    targets: Mapping[K, Target]
    request: Callable[[Sequence[K], int], Request[A]]
    read: Callable[[A, Sequence[K]], Iterable[tuple[K, R | Rejection | Later]]]
    place: Callable[[K], Place] = nowhere
    most: int | None = None
    at_most: int | None = None
    retried: frozenset[ErrorCode] = RETRIED
    older: "AnyCall | None" = field(default=None)


AnyCall = Call[object, object, object]
AnyResults = Results[object, object]
Plan = Generator[AnyCall, AnyResults | None, R]
"""Yields calls, is sent their results, and returns the value for the user."""


def perform(call: Call[K, A, R]) -> Plan[Results[K, R]]:
    """Return the results of a call, for use with `yield from` in a plan."""
    return cast("Results[K, R]", (yield cast("AnyCall", call)))


def perform_single(call: Call[K, A, R]) -> Plan[R]:
    """Return the result of a call about a single item. Raises the item's ClientError."""
    results = yield from perform(call)
    (value,) = results.all().values()
    return value


def result_of(code: int, message: str | None, value: R) -> R | Rejection:
    """Return the value, or the rejection if the code is an error."""
    return Rejection(code, message) if code else value


def as_older(call: Call[K, A, R]) -> AnyCall:
    """Return a call for the field `older` of another one with the same items."""
    return cast("AnyCall", call)
