"""Sessions of brokers: when each sent its last heartbeat. Pure, by deadlines instead of ticks."""

from collections.abc import Iterator
from math import inf

from trio_kafka.model import NodeId


class Sessions:
    """Sessions in memory. A new controller starts without any, and learns them by heartbeats."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._heard: dict[NodeId, float] = {}  # the oldest first

    def touch(self, broker_id: NodeId, now: float) -> None:
        """Note a heartbeat of a broker."""
        self._heard.pop(broker_id, None)
        self._heard[broker_id] = now

    def forget(self, broker_id: NodeId) -> None:
        """End the session of a broker that is fenced or unregistered."""
        self._heard.pop(broker_id, None)

    def alive(self, broker_id: NodeId, now: float) -> bool:
        """Return whether a broker has sent a heartbeat lately."""
        return now - self._heard.get(broker_id, -inf) < self._timeout_s

    @property
    def deadline(self) -> float:
        """Time at which the next session ends."""
        return next(iter(self._heard.values()), inf) + self._timeout_s

    def silent(self, now: float) -> Iterator[NodeId]:
        """Yield the brokers whose sessions have ended."""
        for broker_id, heard in self._heard.items():
            if now - heard < self._timeout_s:
                return
            yield broker_id
