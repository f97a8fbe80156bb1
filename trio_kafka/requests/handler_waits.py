"""Waits for handlers as data: how many are taken, and by what.

Made once for a list of requests, as each of thousands that are queued waits for the same handlers.
"""

from collections import Counter
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.introspect.waits import Subject, Wait
from trio_kafka.network.plane import Plane
from trio_kafka.network.request import Request
from trio_kafka.requests.handler_slot import HandlerSlot
from trio_kafka.requests.parked_call import function_name
from trio_kafka.requests.pool import HandlerGroup

_NAMED: Final = 3  # APIs and plugins that the words name


@frozen(eq=False)
class BusyHandlers:
    """Handlers of one plane at one moment.

    tokens, taken: of the limiter. slots: those that hold a token, by request. takers: requests that
    wait for one. queued, bound: of the request channel.
    """

    plane: str
    tokens: int
    taken: int
    slots: dict[Request, HandlerSlot]
    takers: frozenset[Request]
    queued: int
    bound: float

    def queue_waits(self) -> tuple[Wait, ...]:
        """Return the waits of a request that is queued."""
        if self.taken < self.tokens:
            on = Subject("channel", f"request-channel of plane {self.plane}")
            words = f"its turn among {self.queued:,} queued requests"
            return (Wait(cause="handler", words=words, on=on),)
        own = Wait(
            cause="handler",
            words=f"a free handler: {self.taken:,} of {self.tokens:,} are taken{self._takers()}",
            on=self._limiter,
            needs=1,
            has=0,
            unit="handlers",
        )
        return (own, *self._plugin_waits())

    def room_waits(self) -> tuple[Wait, ...]:
        """Return the waits of a request for which the request channel has no room."""
        own = Wait(
            cause="channel",
            words=f"room in the request channel: {self.queued:,} of {self.bound:,} are queued",
            on=Subject("channel", f"request-channel of plane {self.plane}"),
            needs=1,
            has=max(self.bound - self.queued, 0),
            unit="places",
        )
        return (own, *self.queue_waits())

    def token_waits(self) -> tuple[Wait, ...]:
        """Return the waits of a request whose async handler waits for a token."""
        own = Wait(
            cause="token",
            words=f"a handler token: {self.taken:,} of {self.tokens:,} are taken{self._takers()}",
            on=self._limiter,
            needs=1,
            has=max(self.tokens - self.taken, 0),
            unit="tokens",
        )
        return (own, *self._plugin_waits())

    def serving_waits(self, request: Request) -> tuple[Wait, ...]:
        """Return the wait of a request for code of a plugin that serves it; empty: for no such."""
        slot = self.slots.get(request)
        if slot is None or not slot.plugin:
            return ()
        words = f"{function_name(slot.function)} of plugin {slot.plugin} to return"
        return (Wait(cause="plugin", words=words, on=Subject("plugin", slot.plugin)),)

    @property
    def _limiter(self) -> Subject:
        return Subject("limiter", f"num.io.threads of plane {self.plane}")

    def _takers(self) -> str:
        counts = Counter(
            f"plugin {slot.plugin}" if slot.plugin else slot.name for slot in self.slots.values()
        )
        if not counts:
            return ""
        names = (f"{count:,} by {name}" for name, count in counts.most_common(_NAMED))
        return f", {', '.join(names)}"

    def _plugin_waits(self) -> tuple[Wait, ...]:
        """Return the wait for the plugin that has most of the handlers, if one has."""
        counts = Counter(slot.plugin for slot in self.slots.values() if slot.plugin)
        if not counts:
            return ()
        plugin, count = counts.most_common(1)[0]
        if count * 2 < self.taken:
            return ()
        functions = {
            function_name(slot.function) for slot in self.slots.values() if slot.plugin == plugin
        }
        words = f"{', '.join(sorted(functions)[:_NAMED])} of plugin {plugin} has {count:,} of them"
        return (
            Wait(
                cause="plugin",
                words=words,
                on=Subject("plugin", plugin),
                needs=self.tokens,
                has=count,
                unit="handlers",
            ),
        )


def busy_handlers(plane: Plane) -> BusyHandlers:
    """Return what the handlers of a plane do now. O(`num.io.threads`)."""
    handlers, requests = plane.handlers, plane.requests
    tokens, taken = handlers.size, handlers.size - handlers.idle
    slots, takers = dict[Request, HandlerSlot](), list[Request]()
    if isinstance(handlers, HandlerGroup):
        limiter = handlers.limiter
        tokens, taken = limiter.total_tokens, limiter.borrowed_tokens
        slots = {slot.request: slot for slot in limiter.holders if isinstance(slot, HandlerSlot)}
        for taker in limiter.takers:
            if isinstance(taker, HandlerSlot):
                takers.append(taker.request)
            elif isinstance(taker, Request):  # its answer is made in steps
                takers.append(taker)
    return BusyHandlers(
        plane=plane.name,
        tokens=tokens,
        taken=taken,
        slots=slots,
        takers=frozenset(takers),
        queued=requests.queued,
        bound=requests.bound,
    )
