"""Call that a parked request awaits, and what it waits for as data.

An object whose bound method is awaited says its waits itself; any other function declares them
(`introspect.declared_waits`). A function of a plugin that does neither is told by its name.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

import trio

from trio_kafka.attributes import define, frozen
from trio_kafka.introspect.declared_waits import declared_wait
from trio_kafka.introspect.waits import Subject, Wait, Waiting, timed

_NEVER: Final = float("inf")


@frozen
class ParkedCall:
    """One call of `Context.parked`.

    plugin: whose interceptor or handler makes it; empty: the broker's own handler.
    since, deadline: in `trio.current_time()`.
    """

    function: Callable[..., object]
    args: tuple[object, ...]
    plugin: str
    since: float
    deadline: float

    def __str__(self) -> str:
        name = function_name(self.function)
        return f"{name} in plugin {self.plugin}" if self.plugin else name

    def waits(self, now: float) -> tuple[Wait, ...]:
        """See `introspect.waits.Waiting`."""
        first, *further = self._described(now)
        age_s = now - self.since if first.age_s is None else first.age_s
        left_s = first.left_s
        if self.deadline != _NEVER:
            left_s = max(self.deadline - now, 0.0)
        return (timed(first, age_s, left_s), *further)

    def _described(self, now: float) -> tuple[Wait, ...]:
        owner = getattr(self.function, "__self__", None)
        if isinstance(owner, Waiting):
            return owner.waits(now)
        declared = declared_wait(self.function, self.args)
        if declared is not None:
            return (declared,)
        name = function_name(self.function)
        if self.plugin:
            words = f"{name} in plugin {self.plugin}"
            return (Wait(cause="plugin", words=words, on=Subject("plugin", self.plugin)),)
        return (Wait(cause="change", words=f"the end of {name}", on=Subject("task", name)),)


@define(eq=False)
class LimitTurn:
    """Turn of a call at the limit of a plugin's calls."""

    _limiter: trio.CapacityLimiter
    _borrower: object
    _plugin: str

    async def take(self) -> None:
        """Take a token of the limit; waits while there is none."""
        await self._limiter.acquire_on_behalf_of(self._borrower)

    def waits(self, now: float) -> tuple[Wait, ...]:
        """See `introspect.waits.Waiting`."""
        del now
        limit = self._limiter.statistics()
        words = (
            f"a call of plugin {self._plugin} to end: {limit.borrowed_tokens} of"
            f" {limit.total_tokens} are running"
        )
        own = Wait(
            cause="token",
            words=words,
            on=Subject("limiter", f"limit of plugin {self._plugin}"),
            needs=1,
            has=max(limit.total_tokens - limit.borrowed_tokens, 0),
            unit="tokens",
        )
        running = f"{limit.borrowed_tokens} calls of plugin {self._plugin} are running"
        return (own, Wait(cause="plugin", words=running, on=Subject("plugin", self._plugin)))


def function_name(function: object) -> str:
    """Return the name of a function, for people."""
    while isinstance(function, partial):
        function = function.func
    return str(getattr(function, "__qualname__", type(function).__name__))
