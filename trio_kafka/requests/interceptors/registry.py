"""Interceptors: what plugins, faults and traces do to requests on their way to handlers and back.

`before(request, context)` sees a request first; an answer that it gives ends the way.
`after(request, response, context)` sees each answer when it is made, also one that was waited for,
and errors; what it returns replaces it. Both are plain functions.
`around(request, context, forward)` is async, and has a task of its own: `await forward(request)`
gives the answer from further in.

They lie around a handler like shells, by `order`: the lowest is nearest to the client. An answer
made in one shell is seen by those outside of it. Routes take their chain of the registry when they
are made, and are made anew when it changes: a request keeps to the chain that it began with.
"""

import inspect
from collections.abc import Callable, Mapping
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
    """A call of an `around` that can be cut off."""

    def cancel(self) -> None: ...


class InFlight(Protocol):
    """Calls of an owner's `around`s in flight, so that they can be cut off when it stops."""

    def enter(self) -> None: ...

    def leave(self) -> None: ...

    def hold(self, scope: Cancellable) -> None: ...

    def drop(self, scope: Cancellable) -> None: ...


class Owner(Protocol):
    """The owner of an interceptor: a plugin."""

    @property
    def name(self) -> str: ...

    @property
    def in_flight(self) -> InFlight | None:
        """Calls of its `around`s in flight."""

    def failed(self, error: BaseException, where: str) -> None:
        """An interceptor of its own raised, was late or broke its contract; never waits."""


class InterceptorError(Exception):
    """An interceptor broke its contract; the message says how."""


@define(eq=False, kw_only=True)
class Interception:
    """One interceptor in its place.

    key: the API that it is for, None: all. deadline_s: how long it may take of its own, what it
    waits for in `forward` not counted. versions: those that it understands, by key of the API.
    Counters: `calls`, of those `errors`, `refused` (KafkaErrors) and `late`; `seconds` in all and
    `longest_s`. alarm_s: calls that take longer are looked at: a new longest one, or a late one.
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
        """Note a call that took longer than `alarm_s`. True: it was over its deadline."""
        self.longest_s = max(self.longest_s, spent_s)
        deadline = _NEVER if self.deadline_s is None else self.deadline_s
        self.alarm_s = min(self.longest_s, deadline)
        return spent_s > deadline

    def where(self, api: str) -> str:
        """What is told of a failure: 'before Produce'."""
        return f"{self.kind} {api}"

    def figures(self) -> Figures:
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
    """Those of a broker, in the order of the shells, outermost first.

    Every change is one of the registry too: routes are made anew, and an API is offered only in the
    versions that all of its interceptors understand.
    """

    def __init__(self, apis: Registry, node: Node | None = None) -> None:
        self._apis = apis
        self._node = node or Node("interceptors", "part")
        self._all: list[Interception] = []

    def add(
        self,
        kind: Kind,
        request: type[Any] | None,
        function: Callable[..., Any],
        *,
        order: int,
        owner: Owner,
        deadline_s: float | None = None,
        limit: int | trio.CapacityLimiter | None = None,
        versions: Versions | Mapping[int, Versions] | None = None,
    ) -> Interception:
        """Put an interceptor in its place: behind those of the same order.

        request: the class of the requests that it is for, None: all of them.
        limit: of an `around`, how many of its calls run at once, or a limiter that its owner's
            others share; what they wait for in `forward` is not counted. A plain function never
            runs beside itself.
        versions: first and last that it understands, or a mapping of them by API key.
        Raises TypeError for a function of the wrong kind or a class that is no request, ValueError
        for a limit, a deadline or versions that leave nothing.
        """
        key = None if request is None else _key_of(request)
        _check_kind(kind, function)
        if isinstance(limit, int) and limit < 1:
            raise ValueError(f"a limit of {limit} at once: want 1 or more")
        if deadline_s is not None and deadline_s <= 0:
            raise ValueError(f"a deadline of {deadline_s} s: want more than 0")
        understood = _by_key(versions, key)
        made = Interception(
            kind=kind,
            key=key,
            function=function,
            order=order,
            owner=owner,
            deadline_s=deadline_s,
            versions=understood,
        )
        narrowed = _narrowed([*self._all, made])
        for of in understood:
            self._check_some_left(of, narrowed, owner)
        called = "every API" if request is None else message_of(request).name
        made.node = self._node.add(f"{owner.name} {kind} {called}", "part", made.figures)
        if kind == "around" and limit is not None:
            made.limiter = (
                open_limiter(limit, made.node, "limit") if isinstance(limit, int) else limit
            )
        self._all.append(made)
        self._all.sort(key=attrgetter("order"))
        self._apis.narrow(narrowed)
        return made

    def remove(self, interception: Interception) -> None:
        """Take an interceptor away; requests in hand finish with it. Idempotent."""
        if interception not in self._all:
            return
        self._all.remove(interception)
        if interception.node is not None:
            interception.node.remove()
        self._apis.narrow(_narrowed(self._all))

    def of(self, api: Api) -> tuple[Interception, ...]:
        """The chain of an API, outermost first."""
        return tuple(one for one in self._all if one.key is None or one.key == api.key)

    def __len__(self) -> int:
        return len(self._all)

    @property
    def generation(self) -> int:
        """Grows with every change, of the APIs too."""
        return self._apis.generation

    def _check_some_left(self, key: int, narrowed: Mapping[int, Versions], owner: Owner) -> None:
        for api in self._apis.unnarrowed():
            first, last = narrowed[key]
            if api.key == key and max(first, api.first) > min(last, api.last):
                raise ValueError(
                    f"{owner.name} understands other versions of {api.name} than are served"
                    f" ({api.first} to {api.last}) or than other interceptors understand"
                )


def _key_of(request: type[Any]) -> int:
    message = message_of(request)
    if message.key is None or message.response is None:
        raise TypeError(f"{message.name} is no request with a response")
    return message.key


def _check_kind(kind: str, function: Callable[..., Any]) -> None:
    if kind not in KINDS:
        raise ValueError(f"an interceptor is one of {', '.join(KINDS)}, not {kind!r}")
    call = getattr(function, "__call__", None)  # noqa: B004 - its colour is what is asked
    waits = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
    if waits != (kind == "around"):
        wanted = "an async function" if kind == "around" else "a plain function"
        raise TypeError(f"{kind} wants {wanted}: {function!r}")


def _by_key(
    versions: Versions | Mapping[int, Versions] | None, key: int | None
) -> Mapping[int, Versions]:
    if versions is None:
        return {}
    if isinstance(versions, Mapping):
        return {of: one for of, one in versions.items() if key in (None, of)}
    if key is None:
        raise ValueError("versions of which API? An interceptor of all gives them by key")
    return {key: versions}


def _narrowed(interceptions: list[Interception]) -> dict[int, Versions]:
    """What all interceptors of each API understand."""
    narrowed: dict[int, Versions] = {}
    for one in interceptions:
        for key, (first, last) in one.versions.items():
            least, most = narrowed.get(key, (first, last))
            narrowed[key] = max(first, least), min(last, most)
    return narrowed
