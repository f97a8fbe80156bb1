"""Controls of one broker: fault rules, coroutines, recorded requests, limits of API versions.

    controls = Controls(broker)
    with controls.faults.add(FaultRule(api="Produce", drop=True, times=1)):
        ...

They cost nothing until they are used, and go on in the next life of the broker (`attach`).
`BlockingControls` has the same for callers in other threads.
"""

from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, Unpack

import trio

from trio_kafka.controls.api_limits import ApiLimits
from trio_kafka.controls.api_names import ApiName
from trio_kafka.controls.faults import Fault, FaultRule, Faults
from trio_kafka.controls.interceptors import Around, Interceptor, Interceptors
from trio_kafka.controls.keywords import check_keywords, suggesting_methods
from trio_kafka.controls.recorder import CONDITIONS, RecordedRequest, Recorder
from trio_kafka.controls.recorder.recorded import Conditions
from trio_kafka.controls.running import HasParts
from trio_kafka.introspect.tree import Node

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

T = TypeVar("T")


class Controls:
    """Controls of a broker, for its own loop.

    seed, most_rules, node: see `Faults`. most_requests: see `Recorder`.
    """

    def __init__(
        self,
        broker: HasParts,
        *,
        seed: object = 0,
        most_rules: int | None = None,
        most_requests: int = 10_000,
        node: Node | None = None,
    ) -> None:
        self._broker = broker
        self.faults = Faults(broker, seed=seed, most=most_rules, node=node)
        self.recorder = Recorder(broker, most=most_requests)
        self.limits = ApiLimits(broker)
        self.interceptors = Interceptors(broker)

    def attach(self, broker: HasParts) -> None:
        """Continue with the next life of the broker. Idempotent."""
        if broker is self._broker:
            return
        self._broker = broker
        for control in (self.limits, self.recorder, self.faults, self.interceptors):
            control.attach(broker)

    def clear(self) -> None:
        """Undo everything: remove rules, coroutines and limits, stop recording, forget failures."""
        self.faults.clear()
        self.interceptors.clear()
        self.faults.failures.clear()
        self.interceptors.failures.clear()
        self.recorder.stop()
        self.recorder.clear()
        self.limits.clear()

    @property
    def failures(self) -> list[tuple[BaseException, str]]:
        """Errors that predicates and coroutines of the test raised, with their places."""
        return [*self.faults.failures, *self.interceptors.failures]


class Loop(Protocol):
    """Thread with the broker's loop."""

    def call(self, function: Callable[..., Awaitable[T]], *args: object) -> T: ...


@suggesting_methods
class BlockingFault:
    """Handle of a rule, for other threads than the broker's; a context manager."""

    def __init__(self, loop: Loop, fault: Fault) -> None:
        self._loop = loop
        self.fault = fault

    @property
    def hits(self) -> int:
        """Number of requests that got the fault."""
        return self.fault.hits

    @property
    def seen(self) -> int:
        """Number of requests that matched."""
        return self.fault.seen

    @property
    def held(self) -> int:
        """Number of requests that the rule holds."""
        return self.fault.held

    def wait(self, hits: int = 1, *, timeout_s: float = 10.0) -> None:
        """Wait until the rule has had a number of hits.

        Raises RemovedError, and trio.TooSlowError after `timeout_s`.
        """

        async def wait() -> None:
            with trio.fail_after(timeout_s):
                await self.fault.wait(hits)

        self._loop.call(wait)

    def release(self) -> None:
        """Release the requests that the rule holds."""
        _call(self._loop, self.fault.release)

    def remove(self) -> None:
        """Remove the rule and release its requests."""
        _call(self._loop, self.fault.remove)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()


@suggesting_methods
class BlockingControls:
    """Controls of a broker in another thread. Coroutines run in the broker's loop."""

    def __init__(self, loop: Loop, controls: Controls) -> None:
        self._loop = loop
        self.controls = controls

    def fault(self, rule: FaultRule | None = None, /, **fields: Any) -> BlockingFault:
        """Add a rule, or one of these fields. Raises RuleError."""
        rule = FaultRule(**fields) if rule is None else rule
        return BlockingFault(self._loop, _call(self._loop, self.controls.faults.add, rule))

    def on(self, api: ApiName | None = None) -> Callable[[Around], Interceptor]:
        """Declare a coroutine that is called for each request of an API; None: for all requests.

        Raises UnknownApiError.
        """
        place = _call(self._loop, self.controls.interceptors.on, api)
        return lambda function: _call(self._loop, place, function)

    def record(self) -> None:
        """Record requests from now on."""
        _call(self._loop, self.controls.recorder.start)

    def requests(
        self, api: ApiName | None = None, **conditions: Unpack[Conditions]
    ) -> list[RecordedRequest]:
        """Return the recorded requests that meet the conditions of `Recorder.requests`."""

        def read() -> list[RecordedRequest]:
            return self.controls.recorder.requests(api, **conditions)

        return _call(self._loop, read)

    def wait_for_requests(
        self,
        count: int = 1,
        api: ApiName | None = None,
        *,
        timeout_s: float = 10.0,
        **conditions: Unpack[Conditions],
    ) -> list[RecordedRequest]:
        """Wait until some requests meet the conditions, and return them.

        Raises trio.TooSlowError after `timeout_s`.
        """
        check_keywords("wait_for_requests", conditions, [*CONDITIONS, "timeout_s"])

        async def wait() -> list[RecordedRequest]:
            with trio.fail_after(timeout_s):
                return await self.controls.recorder.wait(count, api, **conditions)

        return self._loop.call(wait)

    def cap_versions(self, api: ApiName, last: int) -> None:
        """Serve an API up to the version `last`. Raises UnknownApiError, NoVersionLeftError."""
        _call(self._loop, self.controls.limits.cap_versions, api, last)

    def switch_off(self, api: ApiName) -> None:
        """Serve an API no more. Raises UnknownApiError."""
        _call(self._loop, self.controls.limits.switch_off, api)

    def restore(self, api: ApiName) -> None:
        """Remove all limits of an API. Raises UnknownApiError."""
        _call(self._loop, self.controls.limits.restore, api)

    @property
    def unmatched(self) -> list[Fault]:
        """Rules that no request has matched, for the end of a test."""
        return self.controls.faults.unmatched

    @property
    def failures(self) -> list[tuple[BaseException, str]]:
        """Errors that predicates and coroutines of the test raised, with their places."""
        return self.controls.failures

    def clear(self) -> None:
        """Undo everything: see `Controls.clear`."""
        _call(self._loop, self.controls.clear)


def _call(loop: Loop, function: Callable[..., T], *args: object) -> T:
    """Call a plain function in the loop, and return its result."""

    async def call() -> T:
        await trio.lowlevel.checkpoint()
        return function(*args)

    return loop.call(call)
