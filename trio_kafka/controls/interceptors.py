"""Coroutines around the requests of a running broker, for what no fault rule says.

    interceptors = Interceptors(broker)

    @interceptors.on("Fetch")
    async def slow(request, context, forward):
        await event.wait()
        return await forward(request)

They are interceptors of kind `around`, as plugins have: see `requests.interceptors`. The kit's own
requests pass them by.
"""

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Final, Self

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.controls.api_names import ApiName, key_of_api
from trio_kafka.controls.running import KIT_CLIENT, HasParts
from trio_kafka.requests.context import Context
from trio_kafka.requests.interceptors.registry import InFlight, Interception

Forward = Callable[[object], Awaitable[Any]]
Around = Callable[[Any, Context, Forward], Awaitable[Any]]
ORDER: Final = 10  # further in than fault rules


@define(eq=False)
class RecordingOwner:
    """Owner that records the failures that are reported to it, with their places."""

    name: str = "blamed"
    in_flight: InFlight | None = None
    failures: list[tuple[BaseException, str]] = field(factory=list)

    def failed(self, error: BaseException, where: str) -> None:
        self.failures.append((error, where))


@define(eq=False)
class Interceptor:
    """One coroutine in force; a context manager that removes it.

    key: of its API; None: all. calls: its requests.
    """

    function: Around
    key: int | None
    calls: int = field(default=0, init=False)
    _remove: Callable[["Interceptor"], None]

    async def around(self, request: object, context: Context, forward: Forward) -> object:
        """Call the coroutine, except for the kit's own requests and those of other APIs."""
        is_other = self.key is not None and context.request.key != self.key
        if is_other or context.client_id == KIT_CLIENT:
            return await forward(request)
        self.calls += 1
        return await self.function(request, context, forward)

    def remove(self) -> None:
        """Remove it; requests in flight keep it. Idempotent."""
        self._remove(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()


class Interceptors:
    """Coroutines in force of one broker. failures: what they raised, with its place."""

    def __init__(self, broker: HasParts, *, order: int = ORDER) -> None:
        self._broker = broker
        self._order = order
        self._owner = RecordingOwner("test")
        self._placed: dict[Interceptor, Interception] = {}  # outermost first

    def on(self, api: ApiName | None = None) -> Callable[[Around], Interceptor]:
        """Declare a coroutine that is called for each request of an API; None: for all requests.

        The name stands for the `Interceptor` afterwards. Raises UnknownApiError.
        """
        key = None if api is None else key_of_api(api, self._broker.parts.apis)

        def place(function: Around) -> Interceptor:
            interceptor = Interceptor(function, key, self._remove)
            self._place(interceptor)
            return interceptor

        return place

    def attach(self, broker: HasParts) -> None:
        """Put the coroutines around the requests of the broker's next life."""
        self._broker = broker
        for interceptor in self._placed:
            self._place(interceptor)

    def clear(self) -> None:
        """Remove all of them."""
        for interceptor in list(self._placed):
            interceptor.remove()

    @property
    def failures(self) -> list[tuple[BaseException, str]]:
        return self._owner.failures

    def _place(self, interceptor: Interceptor) -> None:
        parts, key = self._broker.parts, interceptor.key
        # An API that is switched off is not there: all requests then meet the coroutine's key.
        api = None if key is None else parts.apis.get(key)
        self._placed[interceptor] = parts.interceptors.add(
            "around",
            None if api is None else api.request,
            interceptor.around,
            order=self._order,
            owner=self._owner,
        )

    def _remove(self, interceptor: Interceptor) -> None:
        placed = self._placed.pop(interceptor, None)
        if placed is not None:
            self._broker.parts.interceptors.remove(placed)
