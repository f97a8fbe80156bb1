"""Decorator `@api(RequestClass)`: declares a function as the handler of an API.

Key and versions come from the message. Unstable versions are served if the broker's setting
`unstable.api.versions.enable` is true. A plain function never waits; an async function may. Both
take the request and its context. They return a response (a message, or its bytes as `Encoded`) or
None for no response. A plain function may also return a `Pending` of one of these, such as that of
`rows` or `for_each`.
"""

import inspect
from collections.abc import Callable
from typing import Any, Final, Self, TypeVar

from attrs import evolve

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.schema import message_of

H = TypeVar("H", bound=Callable[..., object])
ErrorAnswer = Callable[[Any, ErrorCode, str | None], Any]  # (request, code, message) -> response
_MARK: Final = "__trio_kafka_api__"
_LAST_KEY: Final = 32767  # int16
# Values of `largest` besides a number of bytes.
ANY_SIZE: Final = (1 << 31) - 1  # up to socket.request.max.bytes
MANY_PARTITIONS: Final = 8 << 20  # 100,000 topics, or some partitions of each


@frozen
class Listing:
    """Listed API: versions `first` to `last`, its module not imported yet.

    newest: the last version, unstable versions included.
    source: module of the handler.
    """

    key: int
    name: str
    first: int
    last: int
    newest: int
    source: str

    @property
    def listing(self) -> "Listing":
        """Facts that need no import."""
        return Listing(self.key, self.name, self.first, self.last, self.newest, self.source)

    def with_unstable(self) -> Self:
        """Return a copy that ends with the newest version."""
        return self if self.last == self.newest else evolve(self, last=self.newest)


@frozen(kw_only=True)
class Api(Listing):
    """Served API, its module imported.

    waits: true if the handler is async.
    error: makes the response with an error; None: the generic one.
    largest: size of its largest request in bytes; 0: `trio.admin.request.max.bytes`.
    """

    request: type[object]
    response: type[Any]
    handler: Callable[..., Any]
    waits: bool
    error: ErrorAnswer | None
    largest: int = 0


def api(
    request: type[object],
    *,
    first: int | None = None,
    last: int | None = None,
    unstable: bool = False,
    error: ErrorAnswer | None = None,
    largest: int = 0,
) -> Callable[[H], H]:
    """Declare the decorated function as the handler of `request`.

    first, last: serve fewer versions than the message has.
    unstable: always serve unstable versions.
    largest: size of the largest request in bytes, if it exceeds `trio.admin.request.max.bytes`;
        `socket.request.max.bytes` is a limit as well.
    error: makes the response from (request, code, message), if the generic one does not fit.
    Raises TypeError if the message has no response or no valid key, if no version is left, or for a
    generator.
    """
    message = message_of(request)
    if message.key is None or message.response is None:
        raise TypeError(f"{message.name} is no request with a response")
    if not 0 <= message.key <= _LAST_KEY:
        raise TypeError(f"{message.name}: key {message.key}, want 0 to {_LAST_KEY}")
    lowest, newest = message.versions
    lowest = lowest if first is None else max(lowest, first)
    newest = highest = newest if last is None else min(newest, last)
    if not unstable and message.unstable[0] <= message.unstable[1]:
        highest = min(newest, message.unstable[0] - 1)
    if lowest > highest:
        raise TypeError(
            f"{message.name}: no version from {lowest} to {highest}: widen first and last"
        )
    key, response = message.key, message.response

    def mark(handler: H) -> H:
        if inspect.isgeneratorfunction(handler):
            raise TypeError(
                f"{message.name}: {handler.__name__} is a generator: return `rows` or `for_each`,"
                " or make it async"
            )
        api = Api(
            key=key,
            name=message.name.removesuffix("Request"),
            first=lowest,
            last=highest,
            newest=newest,
            request=request,
            response=response,
            handler=handler,
            waits=inspect.iscoroutinefunction(handler),
            error=error,
            source=handler.__module__,
            largest=largest,
        )
        setattr(handler, _MARK, api)
        return handler

    return mark


def api_of(handler: object) -> Api | None:
    """Return the API that `@api` declared; None if the function has no such decorator."""
    api = getattr(handler, _MARK, None)
    return api if isinstance(api, Api) else None
