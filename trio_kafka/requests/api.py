"""`@api(RequestClass)`: marks a function as the handler of an API.

Key and versions come from the message; unstable versions are served where the broker's setting
`unstable.api.versions.enable` says so. A plain function never
waits; an `async` one may. Both take the request and the context, and return a response, an
`Encoded`, a `Delayed`, or None: no answer.
"""

import inspect
from collections.abc import Callable
from typing import Any, Final, TypeVar

from attrs import evolve

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.schema import message_of

H = TypeVar("H", bound=Callable[..., Any])
ErrorAnswer = Callable[[Any, ErrorCode, str | None], Any]  # (request, code, message) -> response
_MARK: Final = "__trio_kafka_api__"
_LAST_KEY: Final = 32767  # int16
# What `largest` may say beside a number of bytes.
ANY_SIZE: Final = (1 << 31) - 1  # up to socket.request.max.bytes
MANY_PARTITIONS: Final = 8 << 20  # 100,000 topics, or some partitions of each


@frozen
class Listing:
    """One API as a broker lists it: versions `first` to `last`.

    newest: the last version with those that are unstable.
    source: the module that has the handler, imported when somebody asks for it.
    """

    key: int
    name: str
    first: int
    last: int
    newest: int
    source: str

    def with_unstable(self) -> "Listing":
        """The same, up to its newest version."""
        return self if self.last == self.newest else evolve(self, last=self.newest)


@frozen(kw_only=True)
class Api:
    """One API as a broker serves it: versions `first` to `last`.

    newest: the last version with those that are unstable.
    waits: the handler is async. error: makes the answer that says an error; None: the generic one.
    largest: bytes of its largest request; 0: `trio.admin.request.max.bytes`.
    source: the module that has the handler.
    """

    key: int
    name: str
    first: int
    last: int
    newest: int
    request: type[Any]
    response: type[Any]
    handler: Callable[..., Any]
    waits: bool
    error: ErrorAnswer | None
    source: str
    largest: int = 0

    @property
    def listing(self) -> Listing:
        return Listing(self.key, self.name, self.first, self.last, self.newest, self.source)

    def with_unstable(self) -> "Api":
        """The same, up to its newest version."""
        return self if self.last == self.newest else evolve(self, last=self.newest)


def api(
    request: type[Any],
    *,
    first: int | None = None,
    last: int | None = None,
    unstable: bool = False,
    error: ErrorAnswer | None = None,
    largest: int = 0,
) -> Callable[[H], H]:
    """Make the function below the handler of `request`.

    first, last: serve fewer versions than the message has. unstable: serve unstable ones always.
    largest: bytes of the largest request, if clients need more than `trio.admin.request.max.bytes`;
        `socket.request.max.bytes` holds as well.
    error: makes the response from (request, code, message) where the generic answer does not do.
    Raises TypeError if the message has no response or no key that a request can name, or if no
    version is left.
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
        raise TypeError(f"{message.name}: no version is left from {lowest} to {highest}")
    key, response = message.key, message.response

    def mark(handler: H) -> H:
        made = Api(
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
        setattr(handler, _MARK, made)
        return handler

    return mark


def api_of(handler: object) -> Api | None:
    """What `@api` said of a function; None if it said nothing."""
    found = getattr(handler, _MARK, None)
    return found if isinstance(found, Api) else None
