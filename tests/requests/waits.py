"""Operations that a test completes, in a purgatory of its own."""

from functools import partial
from typing import Any

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.pending import Pending
from trio_kafka.purgatory import Delayed, Purgatory, Timers


class Waits:
    """A purgatory with operations that a test completes, by key."""

    def __init__(self) -> None:
        node = Node("test", "broker")
        self.purgatory = Purgatory("Test", Timers(node), node)
        self.values: dict[Any, Any] = {}
        self.finished: list[Any] = []
        self.lane: list[Delayed[Any]] = []

    def operation(self, key: Any, deadline: float = 10.0) -> Delayed[Any]:
        return Delayed((key,), deadline, partial(self._value, key), self.purgatory)

    def _value(self, key: Any, timed_out: bool) -> Any:
        value = self.values.get(key)
        if value is None and timed_out:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
        if isinstance(value, KafkaError):
            raise value
        return value

    def park(self, pending: Pending[Any]) -> None:
        assert isinstance(pending, Delayed)
        self.purgatory.watch(pending, self.lane.append, self.finished.append)

    def complete(self, key: Any, value: Any) -> None:
        self.values[key] = value
        self.purgatory.mark(key)
        self.serve()

    def serve(self) -> None:
        """Check the operations that were marked."""
        while self.lane:
            self.purgatory.check(self.lane.pop())
