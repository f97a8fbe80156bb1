"""Guard between a plugin's functions and the broker tasks that call them.

A request that a plugin processes is in flight in that plugin: counted, and bounded by the plugin's
deadline and limit. An Exception of the plugin ends the request. Anything that would end a broker
task (SystemExit, an unrequested Cancelled) ends the plugin instead.
"""

import weakref
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NoReturn, Protocol, TypeVar

import trio
from attrs import evolve

from trio_kafka import held as ledgers
from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.consumer.assignors.spec import (
    Assignor,
    AssignorError,
    GroupAssignment,
    GroupSpec,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.families import Family, MetricsReporter
from trio_kafka.pending import Work, then
from trio_kafka.plugin_host.mounts import App, Receive, Scope, Send
from trio_kafka.plugin_host.served_request import serving
from trio_kafka.purgatory import Delayed
from trio_kafka.requests.api import Api
from trio_kafka.requests.context import Context
from trio_kafka.requests.failures import INTENDED_ERRORS, split_cancelled
from trio_kafka.requests.interceptors.registry import Cancellable
from trio_kafka.requests.parked_call import LimitTurn
from trio_kafka.scheduling.chunked_work import Steps

C = TypeVar("C")


class PluginError(Exception):
    """Failure of a plugin; the message names it, the place and the reason."""


class TooSoonError(PluginError):
    """Rejected reload: another one is running or too recent; a later one may succeed."""


class InFlight:
    """Requests in flight in a plugin's code, also those whose answer comes later."""

    def __init__(self) -> None:
        self.count = 0
        self._scopes: set[Cancellable] = set()
        self._later: set[weakref.ref[object]] = set()
        self._decreased = trio.Event()
        ledgers.opened(self)

    def still_held(self) -> Mapping[str, int]:
        """See `held.Ledger`."""
        return {"requests in flight of a plugin": self.count}

    def enter(self) -> None:
        """Count a request."""
        self.count += 1

    def leave(self) -> None:
        """Count it no longer."""
        self.count -= 1
        self._decreased.set()

    def follow(self, later: "Delayed[object] | Steps[object]") -> None:
        """Count a request until its answer was given or dropped, and `later` garbage-collected."""
        self.enter()
        self._later.add(weakref.ref(later, self._forget))

    def _forget(self, ref: "weakref.ref[object]") -> None:
        self._later.discard(ref)
        self.leave()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Count the block as one request in flight; `cut_off` cancels it."""
        self.enter()
        try:
            with trio.CancelScope() as scope:
                self.hold(scope)
                try:
                    yield
                finally:
                    self.drop(scope)
        finally:
            self.leave()

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
        for scope in list(self._scopes):
            scope.cancel()
        for delayed in [ref() for ref in self._later]:
            if isinstance(delayed, Delayed):
                delayed.timed_out = True
                delayed.marked()


class Owner(Protocol):
    """Generation that a function belongs to."""

    name: str
    in_flight: InFlight
    limiter: trio.CapacityLimiter | None
    deadline_s: float

    def failed(self, error: BaseException, where: str) -> None:
        """Report a failed request; anything but an Exception fails the plugin."""


@contextmanager
def contained(owner: Owner, where: str, *answers: type[BaseException]) -> Iterator[None]:
    """Run code of a plugin.

    A requested cancellation, an intended answer and `answers` pass unchanged. Everything else is
    reported as the plugin's failure and becomes an Exception.
    """
    try:
        yield
    except BaseException as error:
        if isinstance(error, (*INTENDED_ERRORS, *answers)):
            raise
        cancelled, rest = split_cancelled(error)
        if rest is not None:
            owner.failed(rest, where)
        if cancelled is not None and cancelled is not error:
            raise cancelled from error
        if cancelled is not None or isinstance(error, Exception):
            raise
        raise PluginError(f"plugin {owner.name}: {where} raised {error!r}") from error


@contextmanager
def held(owner: Owner, where: str, *answers: type[BaseException]) -> Iterator[None]:
    """Run code of a plugin as one request in flight; see `contained`.

    Raises PluginError if the plugin stops meanwhile.
    """
    finished = False
    with contained(owner, where, *answers), owner.in_flight.held():
        yield
        finished = True
    if not finished:
        raise PluginError(f"plugin {owner.name}: {where} was cancelled because the plugin stops")


def guard_api(api: Api, owner: Owner) -> Api:
    """Return the API with its handler behind the guard."""
    where = f"API {api.name}"
    make = _guard_waiting if api.waits else _guard_plain
    return evolve(api, handler=make(api.handler, owner, where))


def refusing(api: Api, reason: str) -> Api:
    """Return the API of a failed plugin: every request is answered with an error."""
    return evolve(api, handler=refuser(reason), waits=False)


def refuser(reason: str) -> Callable[[object, object], object]:
    """Return a handler, or a `before`, that answers with an error."""

    def refuse(request: object, context: object) -> NoReturn:
        del request, context
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, reason)

    return refuse


def guard_policy(
    policy: Callable[[C, str], None], owner: Owner, where: str
) -> Callable[[C, str], None]:
    """Guard a policy: its KafkaErrors are answers, other exceptions fail its plugin."""

    def ask(change: C, principal: str) -> None:
        with contained(owner, where):
            policy(change, principal)

    return ask


@define(eq=False)
class GuardedReporter:
    """Metrics reporter behind the guard."""

    _reporter: MetricsReporter
    _owner: Owner

    @property
    def name(self) -> str:
        return type(self._reporter).__name__

    def report(self, families: Sequence[Family]) -> None:
        """Report families. Raises only an Exception, which was reported to the plugin."""
        with contained(self._owner, "metrics reporter"):
            self._reporter.report(families)


def _guard_plain(handler: Callable[..., object], owner: Owner, where: str) -> Callable[..., object]:
    def serve(request: object, context: object) -> object:
        with contained(owner, where):
            answer = handler(request, context)
        return _guard_later(answer, owner, where)

    return serve


def _guard_later(answer: object, owner: Owner, where: str) -> object:
    """Guard what a handler returned: an answer that comes later stays in flight until then."""

    def fail(error: BaseException) -> NoReturn:
        try:
            with contained(owner, where):
                raise error
        finally:
            del error  # the exception refers to this frame: break the reference cycle

    follow = owner.in_flight.follow
    if isinstance(answer, Work):
        follow(answer.steps)
        answer = Work(_followed(answer.steps, follow))
    elif isinstance(answer, Delayed):
        follow(answer)
    return then(answer, lambda answer: answer, fail)


def _followed(
    steps: Steps[object], follow: Callable[["Delayed[object] | Steps[object]"], None]
) -> Steps[object]:
    """Take steps; follow what their result still waits for."""
    result = yield from steps
    while isinstance(result, Work):
        follow(result.steps)
        result = yield from result.steps
    if isinstance(result, Delayed):
        follow(result)
    return result


def _guard_waiting(
    handler: Callable[..., Awaitable[object]], owner: Owner, where: str
) -> Callable[..., Awaitable[object]]:
    """Guard an async handler, whose second argument is the context, with deadline and limit."""
    in_flight, limiter = owner.in_flight, owner.limiter
    handler = serving(handler)

    async def serve(request: object, context: Context) -> object:
        token = object()
        try:
            with contained(owner, where), in_flight.held():
                if context.slot is not None:
                    context.slot.plugin, context.slot.function = owner.name, handler
                if limiter is not None:
                    await context.parked(LimitTurn(limiter, token, owner.name).take)
                with trio.CancelScope(deadline=trio.current_time() + owner.deadline_s):
                    return _guard_later(await handler(request, context), owner, where)
        finally:
            if limiter is not None and token in limiter.statistics().borrowers:
                limiter.release_on_behalf_of(token)
        raise KafkaError(
            ErrorCode.REQUEST_TIMED_OUT,
            f"plugin {owner.name}: {where} exceeded its deadline of {owner.deadline_s:g} s",
        )

    return serve


def guard_app(app: Callable[..., Awaitable[None]], owner: Owner, path: str) -> App:
    """Guard an ASGI app; the HTTP plane enforces its deadlines."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        with held(owner, f"app {path}"):
            await app(scope, receive, send)

    return serve


class GuardedAssignor:
    """Assignor of a plugin. Its exceptions fail the plugin, except AssignorError, an ordinary
    answer.
    """

    def __init__(self, assignor: Assignor, owner: Owner) -> None:
        """Wrap an assignor. Raises TypeError if it has no name."""
        name: object = assignor.name
        if not isinstance(name, str) or not name:
            raise TypeError(f"{assignor!r} has no `name`: want the name that group members ask for")
        self.name = name
        self._assignor = assignor
        self._owner = owner

    def assign(self, group: GroupSpec) -> Steps[GroupAssignment]:
        """Assign as a request in flight of the plugin.

        Raises AssignorError, or an Exception that was reported to the plugin.
        """
        in_flight = self._owner.in_flight
        in_flight.enter()
        try:
            with contained(self._owner, f"assignor {self.name}", AssignorError, GeneratorExit):
                answer = self._assignor.assign(group)
                return (yield from answer) if isinstance(answer, Generator) else answer
        finally:
            in_flight.leave()
