"""Renderings of pages, shared by all viewers of the same page and query.

A page is rendered at most once in a tick, however many viewers ask for it, and never without a
viewer. Viewers that ask meanwhile wait for the same rendering. A viewer that leaves while its
rendering is made hands it to the next one.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Final, Generic, TypeVar

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka_http.asgi_json import HttpError, InFlight

R = TypeVar("R")
MOST: Final = 64  # renderings that are kept


@frozen
class _Kept(Generic[R]):
    """Rendering, and when it was begun and ended."""

    rendering: R
    begun: float
    ended: float


@define(eq=False)
class _Turn:
    """Lock of one page, and the viewers that use it."""

    lock: trio.Lock = field(factory=trio.Lock, init=False)
    viewers: int = field(default=0, init=False)


@define(eq=False)
class Renderings(Generic[R]):
    """Renderings by key.

    in_flight: those being made; others are refused while it is full. tick_s: age at which one is
    made again.
    """

    in_flight: InFlight
    _tick_s: float
    _kept: dict[Hashable, _Kept[R]] = field(factory=dict, init=False)  # the oldest first
    _turns: dict[Hashable, _Turn] = field(factory=dict, init=False)

    async def get(
        self, key: Hashable, render: Callable[[], Awaitable[R]], *, is_kept: bool = True
    ) -> R:
        """Return the rendering of `key`, made by `render` unless a fresh one is there.

        is_kept: False: only viewers that wait for it share it, as it is large.
        Raises HttpError(503) if too many are being made, and what `render` raises.
        """
        since = trio.current_time()
        async with self._turn(key, is_kept=is_kept):
            kept = self._kept.get(key)
            if kept is not None and kept.ended >= since:  # this viewer waited for it, however long
                return kept.rendering
            self._forget_old()
            kept = self._kept.get(key)
            if kept is not None:
                return kept.rendering
            if self.in_flight.full:
                raise HttpError(503, "too many requests at once")
            begun = trio.current_time()
            with self.in_flight:
                rendering = await render()
            self._kept[key] = _Kept(rendering, begun, trio.current_time())
            return rendering

    @asynccontextmanager
    async def _turn(self, key: Hashable, *, is_kept: bool) -> AsyncIterator[None]:
        """Let one viewer after the other look for the rendering of a key."""
        turn = self._turns.setdefault(key, _Turn())
        turn.viewers += 1
        try:
            async with turn.lock:
                yield
        finally:
            turn.viewers -= 1
            if not turn.viewers:
                del self._turns[key]
                if not is_kept:
                    self._kept.pop(key, None)

    def _forget_old(self) -> None:
        """Drop what is no longer fresh, and the oldest of too many."""
        now = trio.current_time()
        for key in [key for key, kept in self._kept.items() if now - kept.begun >= self._tick_s]:
            del self._kept[key]
        while len(self._kept) >= MOST:
            del self._kept[next(iter(self._kept))]
