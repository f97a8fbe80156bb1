"""The times of one request's hops, and their sums per API.

A request passes queue (until a handler has it), local (the handler's own work), remote (parked, for
others), response queue (until its processor has the answer) and send (until the socket has taken it
all). Throttling is not a hop of the answer but a pause after it. All readings come from
`Clock.elapsed`. Source: Kafka's request metrics.
"""

from collections.abc import Mapping
from typing import Final

from attrs import define, field

from trio_kafka.introspect.tree import Figures, Node

HOPS: Final = ("queue", "local", "remote", "throttle", "response_queue", "send", "total")


@define(eq=False)
class Stamps:
    """Readings of one request; 0.0 is "not yet"."""

    received: float  # its last byte is here
    begun: float  # a handler has it
    handled: float = 0.0  # the handler's own work is done: answered, or parked
    answered: float = 0.0
    sending: float = 0.0  # its processor has the answer
    throttled_s: float = 0.0


@define(eq=False)
class Sums:
    """Count, sums and maxima of the hops of one API, in seconds."""

    count: int = 0
    queue: float = 0.0
    queue_max: float = 0.0
    local: float = 0.0
    local_max: float = 0.0
    remote: float = 0.0
    remote_max: float = 0.0
    throttle: float = 0.0
    throttle_max: float = 0.0
    response_queue: float = 0.0
    response_queue_max: float = 0.0
    send: float = 0.0
    send_max: float = 0.0
    total: float = 0.0
    total_max: float = 0.0

    def add(self, stamps: Stamps, sent: float) -> None:
        """Count one request whose answer is gone; hops that took no time at all cost a
        comparison.
        """
        self.count += 1
        received, begun, handled = stamps.received, stamps.begun, stamps.handled
        answered, sending = stamps.answered, stamps.sending
        if begun != received:
            hop = begun - received
            self.queue += hop
            self.queue_max = max(self.queue_max, hop)
        hop = handled - begun
        self.local += hop
        if hop > self.local_max:  # noqa: PLR1730 - max() costs three times as much
            self.local_max = hop
        if answered != handled:
            hop = answered - handled
            self.remote += hop
            self.remote_max = max(self.remote_max, hop)
        if sending != answered:
            hop = sending - answered
            self.response_queue += hop
            self.response_queue_max = max(self.response_queue_max, hop)
        hop = sent - sending
        self.send += hop
        if hop > self.send_max:  # noqa: PLR1730 - max() costs three times as much
            self.send_max = hop
        hop = sent - received
        self.total += hop
        if hop > self.total_max:  # noqa: PLR1730 - max() costs three times as much
            self.total_max = hop
        if hop := stamps.throttled_s:
            self.throttle += hop
            self.throttle_max = max(self.throttle_max, hop)

    def figures(self) -> Figures:
        """Sums and maxima in milliseconds, and the count."""
        figures: dict[str, int | float] = {"count": self.count}
        for hop in HOPS:
            figures[f"{hop}_ms"] = getattr(self, hop) * 1e3
            figures[f"{hop}_max_ms"] = getattr(self, f"{hop}_max") * 1e3
        return figures


@define(eq=False)
class Times:
    """The sums of every API that was asked for, under one node."""

    _node: Node
    _names: Mapping[int, str] = field(factory=dict)
    known: dict[int, Sums] = field(factory=dict, init=False)  # by key of the API

    def of(self, key: int) -> Sums:
        """The sums of one API key; call it for known keys only, each is kept for good."""
        sums = self.known.get(key)
        if sums is None:
            sums = self.known[key] = Sums()
            self._node.add(self._names.get(key, f"api-{key}"), "part", sums.figures)
        return sums
