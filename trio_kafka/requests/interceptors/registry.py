"""Registry of interceptors: functions of plugins, faults and logs around the handlers of requests.

- `before(request, context)` is called first; a response that it returns skips the handler.
- `after(request, response, context)` is called with each response, including errors and delayed
  responses; what it returns replaces the response.
- `around(request, context, forward)` is async; `await forward(request)` returns the response of
  everything further in.

Interceptors are layers around a handler, sorted by `order`; the lowest is nearest to the client.
Only the layers outside of an interceptor see the response that it makes. A route gets its chain
from the registry when it is made. After a change all routes are made again, and a request keeps the
chain that it began with.
"""

import inspect
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, Final, Literal, Protocol

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.limiter import open_limiter
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.protocol.schema import message_of
from trio_kafka.requests.api import Api
from trio_kafka.requests.registry import Registry

Kind = Literal["before", "after", "around"]
KINDS: Final = ("before", "after", "around")
Versions = tuple[int, int]
_NEVER: Final = float("inf")


class Cancellable(Protocol):
    """Call of an `around` that can be cancelled."""

    def cancel(self) -> None: ...


class InFlight(Protocol):
    """Calls of an owner's `around`s in flight, so that a stop of the owner can cancel them."""

    def enter(self) -> None: ...

    def leave(self) -> None: ...

    def hold(self, scope: Cancellable) -> None: ...

    def drop(self, scope: Cancellable) -> None: ...


class Owner(Protocol):
    """Owner of an interceptor: a plugin."""

    @property
    def name(self) -> str: ...

    @property
    def in_flight(self) -> InFlight | None:
        """Calls of its `around`s in flight; None: they are not cancelled when it stops."""

    def failed(self, error: BaseException, where: str) -> None:
        """Take note that an interceptor raised, was late or broke its contract; never waits."""


class InterceptorError(Exception):
    """Violation of an interceptor's contract; the message says how."""


@define(eq=False, kw_only=True)
class Interception:
    """One registered interceptor.

    key: key of its API, or None for all APIs.
    deadline_s: limit of its own time, which excludes the time in `forward`.
    versions: versions that it understands, by API key.
    Counters: `calls`, and of these `errors`, `refused` (KafkaErrors) and `late`; `seconds` is their
        sum, `longest_s` the longest call.
    alarm_s: a longer call is the longest so far, or exceeds the deadline.
    """

    kind: Kind
    key: int | None
    function: Callable[..., Any]
    order: int
    owner: Owner
    deadline_s: float | None
    versions: Mapping[int, Versions]
    limiter: trio.CapacityLimiter | None = None
    calls: int = field(default=0, init=False)
    errors: int = field(default=0, init=False)
    refused: int = field(default=0, init=False)
    late: int = field(default=0, init=False)
    seconds: float = field(default=0.0, init=False)
    longest_s: float = field(default=0.0, init=False)
    alarm_s: float = field(default=0.0, init=False)
    node: Node | None = field(default=None, init=False)

    def note_slow(self, spent_s: float) -> bool:
        """Note a call longer than `alarm_s`. Return whether it exceeded the deadline."""
        self.longest_s = max(self.longest_s, spent_s)
        deadline = _NEVER if self.deadline_s is None else self.deadline_s
        self.alarm_s = min(self.longest_s, deadline)
        return spent_s > deadline

    def where(self, api: str) -> str:
        """Return the place of a failure for logs, such as 'before Produce'."""
        return f"{self.kind} {api}"

    def figures(self) -> Figures:
        """Return what the tree shows."""
        return {
            "owner": self.owner.name,
            "order": self.order,
            "calls": self.calls,
            "errors": self.errors,
            "refused": self.refused,
            "late": self.late,
            "ms": self.seconds * 1e3,
            "longest_ms": self.longest_s * 1e3,
            "deadline_ms": None if self.deadline_s is None else self.deadline_s * 1e3,
        }


class Interceptors:
    """Interceptors of a broker, outermost first.

    Every change also changes the registry of APIs: routes are made again, and an API is offered
    only in the versions that all of its interceptors understand.
    """

    def __init__(self, apis: Registry, node: Node | None = None) -> None:
        self._apis = apis
        self._node = node or Node("interceptors", "part")
        self._all: list[Interception] = []
        self._limits: Mapping[int, Versions] = {}

    def add(
        self,
        kind: Kind,
        request: type[object] | None,
        function: Callable[..., object],
        *,
        order: int,
        owner: Owner,
        deadline_s: float | None = None,
        limit: int | trio.CapacityLimiter | None = None,
        versions: Versions | Mapping[int, Versions] | None = None,
    ) -> Interception:
        """Add an interceptor behind the others of the same order.

        request: the class of its requests; None: all requests.
        limit: number of concurrent calls of an `around`, or a limiter that it shares with others of
            its owner. Time in `forward` does not count. Plain functions never run concurrently.
        versions: first and last version that it understands, or a mapping of them by API key.
        Raises TypeError if the function does not fit the kind or the class is no request. Raises
        ValueError for a limit or deadline of 0 or less, or if no version is left.
        """
        key = None if request is None else _key_of(request)
        _check_kind(kind, function)
        if isinstance(limit, int) and limit < 1:
            raise ValueError(f"limit is {limit} concurrent calls: want 1 or more")
        if deadline_s is not None and deadline_s <= 0:
            raise ValueError(f"deadline is {deadline_s} s: want more than 0")
        understood = _versions_by_key(versions, key)
        interception = Interception(
            kind=kind,
            key=key,
            function=function,
            order=order,
            owner=owner,
            deadline_s=deadline_s,
            versions=understood,
        )
        narrowed = self._narrowed([*self._all, interception])
        for api_key in understood:
            self._check_some_left(api_key, narrowed, owner)
        api_name = "every API" if request is None else message_of(request).name
        interception.node = self._node.add(
            f"{owner.name} {kind} {api_name}", "part", interception.figures
        )
        if kind == "around" and limit is not None:
            interception.limiter = (
                open_limiter(limit, interception.node, "limit") if isinstance(limit, int) else limit
            )
        self._all.append(interception)
        self._all.sort(key=attrgetter("order"))
        self._apis.narrow(narrowed)
        return interception

    def remove(self, interception: Interception) -> None:
        """Remove an interceptor; requests in flight keep it. Idempotent."""
        if interception not in self._all:
            return
        self._all.remove(interception)
        if interception.node is not None:
            interception.node.remove()
        self._apis.narrow(self._narrowed(self._all))

    def limit(self, versions: Mapping[int, Versions]) -> None:
        """Serve APIs only in the given versions (first, last) by key, whatever interceptors
        understand.

        An API without a version in its range is not served. Replaces the previous limits.
        """
        self._limits = versions
        self._apis.narrow(self._narrowed(self._all))

    def of(self, api: Api) -> tuple[Interception, ...]:
        """Return the interceptors of an API, outermost first."""
        return tuple(
            interception
            for interception in self._all
            if interception.key is None or interception.key == api.key
        )

    def __len__(self) -> int:
        return len(self._all)

    @property
    def generation(self) -> int:
        """Number that grows with every change of interceptors or APIs."""
        return self._apis.generation

    def _narrowed(self, interceptions: list[Interception]) -> dict[int, Versions]:
        """Return the versions that remain of each API that has fewer than all."""
        return _common_versions(
            [*(interception.versions for interception in interceptions), self._limits]
        )

    def _check_some_left(self, key: int, narrowed: Mapping[int, Versions], owner: Owner) -> None:
        for api in self._apis.with_all_versions():
            first, last = narrowed[key]
            if api.key == key and max(first, api.first) > min(last, api.last):
                raise ValueError(
                    f"no version of {api.name} is left: {owner.name} and the other interceptors"
                    f" understand {first} to {last}, want some of {api.first} to {api.last}"
                )


def _key_of(request: type[object]) -> int:
    message = message_of(request)
    if message.key is None or message.response is None:
        raise TypeError(f"{message.name} is no request with a response")
    return message.key


def _check_kind(kind: str, function: Callable[..., object]) -> None:
    if kind not in KINDS:
        raise ValueError(f"an interceptor is one of {', '.join(KINDS)}, not {kind!r}")
    call = getattr(function, "__call__", None)  # noqa: B004 - async or not is asked, not called
    waits = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
    if waits != (kind == "around"):
        expected = "an async function" if kind == "around" else "a plain function"
        raise TypeError(f"{kind} is {function!r}: want {expected}")


def _versions_by_key(
    versions: Versions | Mapping[int, Versions] | None, key: int | None
) -> Mapping[int, Versions]:
    if versions is None:
        return {}
    if isinstance(versions, Mapping):
        return {of: range_ for of, range_ in versions.items() if key in (None, of)}
    if key is None:
        raise ValueError(
            f"versions are {versions!r} for all APIs: want a mapping of versions by API key"
        )
    return {key: versions}


def _common_versions(understood: Iterable[Mapping[int, Versions]]) -> dict[int, Versions]:
    """Return the versions of each API that all of these mappings by key have."""
    common: dict[int, Versions] = {}
    for versions in understood:
        for key, (first, last) in versions.items():
            least, most = common.get(key, (first, last))
            common[key] = max(first, least), min(last, most)
    return common
