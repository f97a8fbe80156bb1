"""Guard between a plugin's functions and the broker tasks that call them.

A request that a plugin processes is in flight in that plugin: counted, and bounded by the plugin's
deadline and limit. An Exception of the plugin ends the request. Anything that would end a broker
task (SystemExit, an unrequested Cancelled) ends the plugin instead.
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
from trio_kafka.requests.failures import INTENDED_ERRORS, split_cancelled


class PluginError(Exception):
    """Failure of a plugin; the message names it, the place and the reason."""


class TooSoonError(PluginError):
    """Rejected reload: another one is running or too recent; a later one may succeed."""


class Cancellable(Protocol):
    """Cancel scope or `around` call."""

    def cancel(self) -> None: ...


class InFlight:
    """Requests in flight in a plugin's code, also those parked as a Delayed."""

    def __init__(self) -> None:
        self.count = 0
        self._scopes: set[Cancellable] = set()
        self._parked: weakref.WeakSet[Delayed] = weakref.WeakSet()
        self._refs: set[weakref.ref[Delayed]] = set()
        self._decreased = trio.Event()

    def enter(self) -> None:
        """Count a request."""
        self.count += 1

    def leave(self) -> None:
        """Count it no longer."""
        self.count -= 1
        self._decreased.set()

    def follow(self, delayed: Delayed) -> None:
        """Count a parked response until it is answered or dropped and then garbage-collected."""
        self.enter()
        self._parked.add(delayed)
        self._refs.add(weakref.ref(delayed, self._forget))

    def _forget(self, ref: "weakref.ref[Delayed]") -> None:
        self._refs.discard(ref)
        self.leave()

    def held(self) -> "_Held":
        """Return a block that counts as one request in flight; `cut_off` cancels it."""
        return _Held(self)

    def hold(self, scope: Cancellable) -> None:
        self._scopes.add(scope)

    def drop(self, scope: Cancellable) -> None:
        self._scopes.discard(scope)

    async def wait_empty(self) -> None:
        """Wait until no request is in flight."""
        while self.count:
            self._decreased = trio.Event()
            await self._decreased.wait()

    def cut_off(self) -> None:
        """Cancel everything in flight: tasks are cancelled, parked responses time out."""
        for one in list(self._scopes):
            one.cancel()
        for delayed in list(self._parked):
            delayed.timed_out = True
            delayed.marked()


class _Held:
    """Block of `InFlight.held`; not a generator, because it runs on every request of an app."""

    __slots__ = ("_in_flight", "_scope")

    def __init__(self, in_flight: InFlight) -> None:
        self._in_flight = in_flight
        self._scope = trio.CancelScope()

    def __enter__(self) -> None:
        self._in_flight.enter()
        self._in_flight.hold(self._scope)
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
            self._in_flight.drop(self._scope)
            self._in_flight.leave()


class Owner(Protocol):
    """Generation that a function belongs to."""

    name: str
    in_flight: InFlight
    limiter: trio.CapacityLimiter | None
    deadline_s: float

    def failed(self, error: BaseException, where: str) -> None:
        """Report a failed request; anything but an Exception fails the plugin."""


def contained(error: BaseException, owner: Owner, where: str) -> BaseException:
    """Return what a plugin call raises instead of `error`.

    A requested cancellation and an intended answer pass unchanged. Everything else is reported as
    the plugin's failure and becomes an Exception.
    """
    if isinstance(error, INTENDED_ERRORS):
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
    """Return the API with its handler behind the guard."""
    where = f"API {api.name}"
    make = _guard_waiting if api.waits else _guard_plain
    return evolve(api, handler=make(api.handler, owner, where))


def refusing(api: Api, reason: str) -> Api:
    """Return the API of a failed plugin: every request is answered with an error."""
    return evolve(api, handler=refuser(reason), waits=False)


def refuser(reason: str) -> Callable[[Any, Any], Any]:
    """Return a handler, or a `before`, that answers with an error."""

    def refuse(request: Any, context: Any) -> Any:
        del request, context
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, reason)

    return refuse


def guard_policy(policy: Callable[[Any, str], None], owner: Owner, where: str) -> Any:
    """Guard a policy: its KafkaErrors are answers, other exceptions fail its plugin."""

    def ask(wanted: Any, principal: str) -> None:
        try:
            policy(wanted, principal)
        except BaseException as error:
            raise contained(error, owner, where) from error

    return ask


class GuardedReporter:
    """Metrics reporter behind the guard."""

    def __init__(self, reporter: MetricsReporter, owner: Owner) -> None:
        self.name = type(reporter).__name__
        self._reporter = reporter
        self._owner = owner

    def report(self, families: Sequence[Family]) -> None:
        """Report families. Raises only an Exception, which was reported to the plugin."""
        try:
            self._reporter.report(families)
        except BaseException as error:
            raise contained(error, self._owner, "metrics reporter") from error


def _guard_plain(handler: Callable[..., Any], owner: Owner, where: str) -> Callable[..., Any]:
    in_flight = owner.in_flight

    def serve(request: Any, context: Any) -> Any:
        try:
            answer = handler(request, context)
        except BaseException as error:
            raise contained(error, owner, where) from error
        if type(answer) is GeneratorType:
            in_flight.enter()
            return _steps(answer, owner, where)
        if type(answer) is Delayed:
            _track_delayed(answer, owner, where)
        return answer

    return serve


def _track_delayed(delayed: Delayed, owner: Owner, where: str) -> None:
    """Keep a parked response in flight until it is answered, with its completion guarded."""
    try_complete = delayed.try_complete

    def guarded(timed_out: bool) -> Any:
        try:
            return try_complete(timed_out)
        except BaseException as error:
            raise contained(error, owner, where) from error

    delayed.try_complete = guarded
    owner.in_flight.follow(delayed)


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
        owner.in_flight.leave()
    if type(answer) is Delayed:
        _track_delayed(answer, owner, where)
    return answer


def _guard_waiting(
    handler: Callable[..., Awaitable[Any]], owner: Owner, where: str
) -> Callable[..., Awaitable[Any]]:
    """Guard an async handler, whose second argument is the context, with deadline and limit."""
    in_flight, limiter = owner.in_flight, owner.limiter

    async def serve(request: Any, context: Any) -> Any:
        in_flight.enter()
        token = object()
        try:
            if limiter is not None:
                await context.parked(limiter.acquire_on_behalf_of, token)
            with trio.CancelScope(deadline=trio.current_time() + owner.deadline_s) as scope:
                in_flight.hold(scope)
                try:
                    answer = await handler(request, context)
                    if type(answer) is Delayed:
                        _track_delayed(answer, owner, where)
                    return answer
                finally:
                    in_flight.drop(scope)
        except BaseException as error:
            raise contained(error, owner, where) from error
        finally:
            if limiter is not None and token in limiter.statistics().borrowers:
                limiter.release_on_behalf_of(token)
            in_flight.leave()
        raise KafkaError(
            ErrorCode.REQUEST_TIMED_OUT,
            f"plugin {owner.name}: {where} exceeded its deadline of {owner.deadline_s:g} s",
        )

    return serve


def guard_app(app: Callable[..., Awaitable[None]], owner: Owner, path: str) -> Any:
    """Guard an ASGI app; the HTTP plane enforces its deadlines."""
    in_flight, where = owner.in_flight, f"app {path}"

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        try:
            with in_flight.held():
                return await app(scope, receive, send)
        except BaseException as error:
            raise contained(error, owner, where) from error
        raise PluginError(f"plugin {owner.name}: {where} was cancelled because the plugin stops")

    return serve
