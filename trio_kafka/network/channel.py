"""The request channel of a plane, with the lane of its completions.

Requests wait in a bounded memory channel, completions of parked requests in a deque beside it, and
go first. A task waits on one thing only, so a completion that finds a handler idle sends a Wake
through the channel. Handlers go idle
only when the lane is empty: a lane that is not empty has its wake on the way.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

import trio

from trio_kafka.introspect.channels import ChannelStatistics, Receiver, Sender, open_channel
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.network.request import Request
from trio_kafka.purgatory import Delayed


class Wake:
    """Tells an idle handler to look at the lane of completions."""


_WAKE: Final = Wake()


class RequestChannel:
    """Bounded in requests (`queued.max.requests`); completions are bounded by the requests that are
    parked. `elapsed` is the clock of the requests' stamps.

    counts: of the requests. completions: the lane.
    """

    def __init__(
        self, bound: int, node: Node, elapsed: Callable[[], float], name: str = "request-channel"
    ) -> None:
        node = node.add(name, "part", self._lane_figures)
        self._send: Sender[Request | Wake]
        self._receive: Receiver[Request | Wake]
        self._send, self._receive = open_channel(bound, node, "requests", self._age_s)
        self._elapsed = elapsed
        self.counts = self._send.counts
        self.completions: deque[Delayed] = deque()
        self._completed = self._most_completions = 0
        self._refused: deque[Callable[[], None]] = deque()

    @property
    def idle(self) -> bool:
        """Nothing waits and a handler does: whoever brings a request may serve it in that handler's
        stead.
        """
        counts = self.counts
        return counts.idle > 0 and not counts.queued and not self.completions

    def offer(self, request: Request) -> None:
        """Hand over a request. Raises trio.WouldBlock when the channel is full."""
        self._send.send_nowait(request)

    def call_when_room(self, call: Callable[[], None]) -> None:
        """Call once, when a request was taken; who came first is called first."""
        self._refused.append(call)

    def call_next(self) -> None:
        """Whoever was called had no use for the room: it is the next one's."""
        if self._refused and self.counts.queued < self.counts.bound:
            self._refused.popleft()()

    def complete(self, delayed: Delayed) -> None:
        """The lane of completions: never waits, never refuses."""
        completions = self.completions
        completions.append(delayed)
        self._completed += 1
        if len(completions) > self._most_completions:  # noqa: PLR1730 - max() costs more
            self._most_completions = len(completions)
        if self.counts.idle and len(self.completions) == 1:
            self._send.send_nowait(_WAKE)  # a receiver waits: this cannot fail

    def take_nowait(self) -> Request | Delayed | None:
        """The next item, completions first; None when nothing waits."""
        while True:
            if self.completions:
                return self.completions.popleft()
            try:
                item = self._receive.receive_nowait()
            except trio.WouldBlock:
                return None
            if isinstance(item, Request):
                if self._refused:
                    self._refused.popleft()()
                return item

    async def take(self) -> Request | Delayed:
        """Wait for the next item; does not let other tasks run when there is one already."""
        while True:
            if self.completions:
                return self.completions.popleft()
            item = await self._receive.receive()
            if isinstance(item, Request):
                if self._refused:
                    self._refused.popleft()()
                return item

    def pass_on(self) -> None:
        """For a handler that takes no more: it may have been woken for more than it took."""
        if self.completions and self.counts.idle:
            self._send.send_nowait(_WAKE)

    def statistics(self) -> ChannelStatistics:
        """Of the requests."""
        return self.counts.statistics()

    def _age_s(self, item: Request | Wake) -> float | None:
        return self._elapsed() - item.stamps.received if isinstance(item, Request) else None

    def _lane_figures(self) -> Figures:
        return {
            "completions": len(self.completions),
            "most_completions": self._most_completions,
            "completed": self._completed,
            "refused": len(self._refused),
        }
