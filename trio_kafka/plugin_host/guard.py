"""What stands between a plugin's functions and the broker's tasks that call them.

A request that a plugin works on is in its hands: counted, bounded by its deadline and its limit. An
error of its code ends that request; what would end a task of the broker's (SystemExit, a Cancelled
that nobody asked for) ends the plugin instead.
"""

import weakref
from collections.abc import Awaitable, Callable, Generator, Sequence
from types import GeneratorType, TracebackType
from typing import Any, Protocol

import trio
from attrs import evolve

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.families import Family, MetricsReporter
from trio_kafka.purgatory import Delayed
from trio_kafka.requests.api import Api
from trio_kafka.requests.failures import MEANT, split_cancelled


class PluginError(Exception):
    """A plugin failed; the message names it, and says where and why."""


class TooSoonError(PluginError):
    """A plugin is reloaded too often, or at the same time; later it may be."""


class Cancellable(Protocol):
    """A cancel scope, or an errand."""

    def cancel(self) -> None: ...


class InHand:
    """Requests in flight in a plugin's code, also those parked as a Delayed."""

    def __init__(self) -> None:
        self.count = 0
        self._scopes: set[Cancellable] = set()
        self._parked: weakref.WeakSet[Delayed] = weakref.WeakSet()
        self._refs: set[weakref.ref[Delayed]] = set()
        self._fewer = trio.Event()

    def enter(self) -> None:
        """Count a request."""
        self.count += 1

    def leave(self) -> None:
        """Count it no longer."""
        self.count -= 1
        self._fewer.set()

    def follow(self, delayed: Delayed) -> None:
        """In hand until it is answered or dropped: then nobody has it any more."""
        self.enter()
        self._parked.add(delayed)
        self._refs.add(weakref.ref(delayed, self._forget))

    def _forget(self, ref: "weakref.ref[Delayed]") -> None:
        self._refs.discard(ref)
        self.leave()

    def held(self) -> "_Held":
        """A block that is one request in hand; one that is cut off is left at its end."""
        return _Held(self)

    def hold(self, scope: Cancellable) -> None:
        self._scopes.add(scope)

    def drop(self, scope: Cancellable) -> None:
        self._scopes.discard(scope)

    async def wait_empty(self) -> None:
        """Wait until no request is in flight."""
        while self.count:
            self._fewer = trio.Event()
            await self._fewer.wait()

    def cut_off(self) -> None:
        """End those that are still there: tasks are cancelled, parked ones reach their deadline."""
        for one in list(self._scopes):
            one.cancel()
        for delayed in list(self._parked):
            delayed.timed_out = True
            delayed.marked()


class _Held:
    """See `InHand.held`. No generator: it is on the way of every request of an app."""

    __slots__ = ("_in_hand", "_scope")

    def __init__(self, in_hand: InHand) -> None:
        self._in_hand = in_hand
        self._scope = trio.CancelScope()

    def __enter__(self) -> None:
        self._in_hand.enter()
        self._in_hand.hold(self._scope)
        self._scope.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        try:
            return self._scope.__exit__(kind, error, traceback)
        finally:
            self._in_hand.drop(self._scope)
            self._in_hand.leave()


class Owner(Protocol):
    """The generation that a function belongs to."""

    name: str
    in_hand: InHand
    limiter: trio.CapacityLimiter | None
    deadline_s: float

    def failed(self, error: BaseException, where: str) -> None:
        """A request failed; anything but an Exception fails the plugin."""


def contained(error: BaseException, owner: Owner, where: str) -> BaseException:
    """What leaves a plugin's code instead of `error`.

    Cancellation that was asked for goes on; so does what is an answer. Everything else is the
    plugin's failure, and an Exception.
    """
    if isinstance(error, MEANT):
        return error
    asked, rest = split_cancelled(error)
    if asked is not None:
        if rest is not None:
            owner.failed(rest, where)
        return asked
    owner.failed(error, where)
    if isinstance(error, Exception):
        return error
    return PluginError(f"plugin {owner.name}: {where} raised {error!r}")


def guard_api(api: Api, owner: Owner) -> Api:
    """The same API, its handler behind the guard."""
    where = f"API {api.name}"
    make = _guard_waiting if api.waits else _guard_plain
    return evolve(api, handler=make(api.handler, owner, where))


def refusing(api: Api, reason: str) -> Api:
    """The same API of a plugin that has failed: it answers with an error."""
    return evolve(api, handler=refuser(reason), waits=False)


def refuser(reason: str) -> Callable[[Any, Any], Any]:
    """A handler, or a `before`, that answers with an error."""

    def refuse(request: Any, context: Any) -> Any:
        del request, context
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, reason)

    return refuse


def guard_policy(policy: Callable[[Any, str], None], owner: Owner, where: str) -> Any:
    """A policy: what it says counts, what else it raises is its plugin's failure."""

    def ask(wanted: Any, principal: str) -> None:
        try:
            policy(wanted, principal)
        except BaseException as error:
            raise contained(error, owner, where) from error

    return ask


class GuardedReporter:
    """Who wants to be told of metrics: what it raises is its plugin's failure."""

    def __init__(self, reporter: MetricsReporter, owner: Owner) -> None:
        self.name = type(reporter).__name__
        self._reporter = reporter
        self._owner = owner

    def report(self, families: Sequence[Family]) -> None:
        """Raises an Exception, of which the plugin was told, and nothing else."""
        try:
            self._reporter.report(families)
        except BaseException as error:
            raise contained(error, self._owner, "metrics reporter") from error


def _guard_plain(handler: Callable[..., Any], owner: Owner, where: str) -> Callable[..., Any]:
    in_hand = owner.in_hand

    def serve(request: Any, context: Any) -> Any:
        try:
            answer = handler(request, context)
        except BaseException as error:
            raise contained(error, owner, where) from error
        if type(answer) is GeneratorType:
            in_hand.enter()
            return _steps(answer, owner, where)
        if type(answer) is Delayed:
            _follow(answer, owner, where)
        return answer

    return serve


def _follow(delayed: Delayed, owner: Owner, where: str) -> None:
    """A parked answer: in hand until it is given, and its end is behind the guard too."""
    try_complete = delayed.try_complete

    def guarded(timed_out: bool) -> Any:
        try:
            return try_complete(timed_out)
        except BaseException as error:
            raise contained(error, owner, where) from error

    delayed.try_complete = guarded
    owner.in_hand.follow(delayed)


def _steps(
    steps: Generator[None, None, Any], owner: Owner, where: str
) -> Generator[None, None, Any]:
    try:
        answer = yield from steps
    except GeneratorExit:
        raise
    except BaseException as error:
        raise contained(error, owner, where) from error
    finally:
        owner.in_hand.leave()
    if type(answer) is Delayed:
        _follow(answer, owner, where)
    return answer


def _guard_waiting(
    handler: Callable[..., Awaitable[Any]], owner: Owner, where: str
) -> Callable[..., Awaitable[Any]]:
    """Of an async function whose second argument is the context: deadline and limit are kept."""
    in_hand, limiter = owner.in_hand, owner.limiter

    async def serve(request: Any, context: Any) -> Any:
        in_hand.enter()
        token = object()
        try:
            if limiter is not None:
                await context.parked(limiter.acquire_on_behalf_of, token)
            with trio.CancelScope(deadline=trio.current_time() + owner.deadline_s) as scope:
                in_hand.hold(scope)
                try:
                    answer = await handler(request, context)
                    if type(answer) is Delayed:
                        _follow(answer, owner, where)
                    return answer
                finally:
                    in_hand.drop(scope)
        except BaseException as error:
            raise contained(error, owner, where) from error
        finally:
            if limiter is not None and token in limiter.statistics().borrowers:
                limiter.release_on_behalf_of(token)
            in_hand.leave()
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"plugin {owner.name}: {where} took too long")

    return serve


def guard_app(app: Callable[..., Awaitable[None]], owner: Owner, path: str) -> Any:
    """An ASGI app: its requests are in the plugin's hands too; the plane keeps their deadlines."""
    in_hand, where = owner.in_hand, f"app {path}"

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        try:
            with in_hand.held():
                return await app(scope, receive, send)
        except BaseException as error:
            raise contained(error, owner, where) from error
        raise PluginError(f"plugin {owner.name}: {where} was cut off: the plugin goes")

    return serve
