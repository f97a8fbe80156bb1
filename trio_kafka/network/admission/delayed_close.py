"""Delayed closes: sockets that are refused now and closed later, which slows fast clients down.

Bounded: above the bound, sockets whose delay ends first are closed at once.
"""

import heapq
from itertools import count
from typing import Final, NoReturn

import trio

from trio_kafka.introspect.declared_waits import waits_for_work
from trio_kafka.world.protocols import Socket

MOST: Final = 1000


class DelayedCloses:
    """Refused sockets by deadline. `add` never waits; `run` closes."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._heap: list[tuple[float, int, Socket]] = []
        self._numbers = count()
        self._sooner = trio.Event()

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, socket: Socket, deadline: float) -> None:
        """Close a socket at a time of `trio.current_time()`, or earlier."""
        if len(self._heap) >= self._most:
            heapq.heappop(self._heap)[2].close()
        heapq.heappush(self._heap, (deadline, next(self._numbers), socket))
        if self._heap[0][0] == deadline:
            self._sooner.set()

    @waits_for_work("a connection to close after a delay")
    async def run(self) -> NoReturn:
        """Close sockets when they are due; close the rest when cancelled."""
        try:
            while True:
                self._sooner = trio.Event()
                with trio.move_on_at(self._heap[0][0] if self._heap else float("inf")):
                    await self._sooner.wait()
                while self._heap and self._heap[0][0] <= trio.current_time():
                    heapq.heappop(self._heap)[2].close()
        finally:
            for _, _, socket in self._heap:
                socket.close()
            self._heap.clear()
