"""Which brokers are alive: when each was heard of last. Pure; deadlines, no ticks."""

from collections.abc import Iterator
from math import inf

from trio_kafka.model import NodeId


class Sessions:
    """In memory only: a new controller begins with none, and hears of the living soon."""

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._heard: dict[NodeId, float] = {}  # the longest silent first

    def touch(self, broker_id: NodeId, now: float) -> None:
        """It has been heard of."""
        self._heard.pop(broker_id, None)
        self._heard[broker_id] = now

    def forget(self, broker_id: NodeId) -> None:
        """It is fenced or gone: nothing more is expected of it."""
        self._heard.pop(broker_id, None)

    def alive(self, broker_id: NodeId, now: float) -> bool:
        """Was it heard of lately?"""
        return now - self._heard.get(broker_id, -inf) < self._timeout_s

    @property
    def deadline(self) -> float:
        """When the next one has been silent too long."""
        return next(iter(self._heard.values()), inf) + self._timeout_s

    def silent(self, now: float) -> Iterator[NodeId]:
        """Those that have been silent too long."""
        for broker_id, heard in self._heard.items():
            if now - heard < self._timeout_s:
                return
            yield broker_id
