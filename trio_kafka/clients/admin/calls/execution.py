"""Machine that runs one call: look up, send, read, and try again what may succeed later.

Theory of operation. A call runs in rounds. `exchanges` returns the requests of a round: lookups for
items whose broker is not known, and requests for the others, several items to one broker together.
The client sends them at once, and gives each response or error back. Items whose error may pass
stay for the next round, which begins after `pause_s`. The client calls `expire` at the deadline.

An item that is unknown to the lookup is looked up a few times only: a topic may just have been
created. Kafka's admin client looks for it until `default.api.timeout.ms` has passed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Final, Generic, TypeVar, cast

import attrs
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.clients.admin.calls.call import MOVED, AnyCall, Call, Later, Rejection
from trio_kafka.clients.admin.calls.lookup import Lookup, LookupRequest
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.calls.targets import Target
from trio_kafka.clients.errors import (
    ClientError,
    Place,
    RetriableError,
    TimedOutError,
    TopicError,
    UnsupportedError,
    client_error,
    error_of,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint
from trio_kafka.peers.backoff import Backoff

A = TypeVar("A")
K = TypeVar("K")
R = TypeVar("R")
_MOST_EXCHANGES: Final = 100  # of one round: each has a task, or a place in a link's queue
_MOST_UNKNOWN: Final = 3  # retries of a lookup that does not know the item
_UNKNOWN: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.BROKER_NOT_AVAILABLE,
    }
)
_OF_TOPICS: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


@frozen(kw_only=True)
class Exchange:
    """A request for one broker, and what takes its end: exactly one of `answered` and `failed`.

    node: None: any broker. address: of the node. answered: takes the response, and the broker.
    """

    node: int | None
    address: Endpoint | None
    request: object
    answered: Callable[[object, str], None]
    failed: Callable[[ClientError], None]
    at_most: int | None = None


@define
class _Item:
    """Progress of an item. failures: so far. sent: an attempt may have been carried out."""

    failures: int = 0
    unknown: int = 0
    sent: bool = False
    last: ClientError | None = None


@define(eq=False, kw_only=True)
class Execution(Generic[K, A, R]):
    """Run of one call. backoff: pauses between attempts. retries: attempts after the first one."""

    call: Call[K, A, R]
    backoff: Backoff
    retries: int
    _items: dict[K, _Item] = field(init=False)
    _lookup: Lookup = field(factory=Lookup, init=False)
    _values: dict[K, R] = field(factory=dict, init=False)
    _errors: dict[K, ClientError] = field(factory=dict, init=False)
    _failed: int = field(default=0, init=False)  # most failures of an item of this round

    def __attrs_post_init__(self) -> None:
        self._items = {item: _Item() for item in self.call.targets}

    @property
    def is_done(self) -> bool:
        return not self._items

    def results(self) -> Results[K, R]:
        """Return values and errors, in the order of the call's items."""
        order = {item: number for number, item in enumerate(self.call.targets)}
        return Results(
            dict(sorted(self._values.items(), key=lambda row: order[row[0]])),
            dict(sorted(self._errors.items(), key=lambda row: order[row[0]])),
        )

    def pause_s(self, chance: float) -> float:
        """Return the time to wait before the next round. chance: see `Backoff.pause_s`."""
        return self.backoff.pause_s(self._failed, chance) if self._failed else 0.0

    def expire(self, timeout_s: float) -> None:
        """End all items that have no result: the deadline has passed."""
        for item, progress in self._items.items():
            reason = "" if progress.last is None else f"; the last failure: {progress.last}"
            place = self.call.place(item)
            if progress.last is not None:
                place = attrs.evolve(place, broker=progress.last.broker)
            self._errors[item] = TimedOutError(
                f"no result within {timeout_s:g} s{reason}", place=place, sent=progress.sent
            )
        self._items.clear()

    def exchanges(self, timeout_ms: int) -> list[Exchange]:
        """Return the requests of the next round, at most 100. Items beyond stay for another one.

        timeout_ms: that each broker may take.
        """
        self._failed = 0
        targets = self.call.targets
        unknown = dict[Target, list[K]]()
        by_node = dict[int | None, list[K]]()
        for item in self._items:
            target = targets[item]
            if self._lookup.is_known(target):
                by_node.setdefault(self._lookup.node(target), []).append(item)
            else:
                unknown.setdefault(target, []).append(item)
        lookups = [
            self._lookup_exchange(request, unknown) for request in self._lookup.requests(unknown)
        ]
        requests = (
            self._exchange(node, chunk, timeout_ms)
            for node, items in by_node.items()
            for chunk in _chunks(items, self.call.most)
        )
        return list(islice(chain(lookups, requests), _MOST_EXCHANGES))

    def _lookup_exchange(
        self, lookup: LookupRequest, items: Mapping[Target, Sequence[K]]
    ) -> Exchange:
        def answered(response: object, broker: str) -> None:
            for target, rejection in lookup.read(response).items():
                for item in items[target]:
                    self._reject(item, rejection, broker, is_lookup=True)

        def failed(error: ClientError) -> None:
            if isinstance(error, UnsupportedError) and self._lookup.has_batches:
                self._lookup.has_batches = False
                return
            for target in lookup.targets:
                for item in items[target]:
                    self._fail(item, error, is_lookup=True)

        return Exchange(
            node=None,
            address=None,
            request=lookup.request,
            answered=answered,
            failed=failed,
            at_most=lookup.at_most,
        )

    def _exchange(self, node: int | None, items: Sequence[K], timeout_ms: int) -> Exchange:
        call = self.call

        def answered(response: object, broker: str) -> None:
            absent = dict.fromkeys(items)
            for item, result in call.read(cast("A", response), items):
                if item not in absent:
                    continue
                del absent[item]
                if isinstance(result, Later):
                    continue
                if isinstance(result, Rejection):
                    self._reject(item, result, broker, is_lookup=False)
                else:
                    self._values[item] = result
                    del self._items[item]
            for item in absent:
                place = attrs.evolve(call.place(item), broker=broker)
                reason = "the broker's answer does not name it"
                self._end(item, ClientError(reason, place=place, sent=True))

        def failed(error: ClientError) -> None:
            if isinstance(error, UnsupportedError) and call.older is not None:
                if self.call is call:
                    self.call = cast("Call[K, A, R]", call.older)
                return
            for item in items:
                self._fail(item, error, is_lookup=False)

        return Exchange(
            node=node,
            address=None if node is None else self._lookup.addresses.get(node),
            request=call.request(items, timeout_ms),
            answered=answered,
            failed=failed,
            at_most=call.at_most,
        )

    def _reject(self, item: K, rejection: Rejection, broker: str, *, is_lookup: bool) -> None:
        """Take the error of an item in an answer."""
        code = error_of(rejection.code)
        progress = self._items[item]
        place = attrs.evolve(self.call.place(item), broker=broker)
        error = item_error(code, rejection.message, place, sent=progress.sent)
        if code in MOVED:
            self._lookup.forget(self.call.targets[item])
        if is_lookup and code in _UNKNOWN:
            progress.unknown += 1
            passes = progress.unknown <= _MOST_UNKNOWN
        else:
            passes = code in self.call.retried
        if passes:
            self._retry(item, error)
        else:
            self._end(item, error)

    def _fail(self, item: K, error: ClientError, *, is_lookup: bool) -> None:
        """Take the failure of a request: no answer came."""
        progress = self._items[item]
        if not is_lookup:
            progress.sent |= error.sent
            self._lookup.forget(self.call.targets[item])
        place = attrs.evolve(self.call.place(item), broker=error.broker)
        copy = type(error)(error.message, place=place, code=error.code, sent=progress.sent)
        if isinstance(error, RetriableError):
            self._retry(item, copy)
        else:
            self._end(item, copy)

    def _retry(self, item: K, error: ClientError) -> None:
        progress = self._items[item]
        progress.failures += 1
        progress.last = error
        if progress.failures > self.retries:
            self._end(item, error)
        else:
            self._failed = max(self._failed, progress.failures)

    def _end(self, item: K, error: ClientError) -> None:
        self._errors[item] = error
        del self._items[item]


def item_error(code: ErrorCode, message: str | None, place: Place, *, sent: bool) -> ClientError:
    """Return the error for an item that a broker has rejected."""
    if code in _OF_TOPICS:
        return TopicError(message or "there is none", place=place, code=code, sent=sent)
    return client_error(code, message, place=place, sent=sent)


def execution_of(
    call: AnyCall, backoff: Backoff, retries: int
) -> Execution[object, object, object]:
    """Return the run of a call that a plan has yielded."""
    return Execution(call=call, backoff=backoff, retries=retries)


def _chunks(items: Sequence[K], most: int | None) -> Iterator[Sequence[K]]:
    if most is None:
        yield items
        return
    rest = iter(items)
    while chunk := list(islice(rest, most)):
        yield chunk
