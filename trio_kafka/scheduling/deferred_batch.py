"""Deferred batch: calls put off to the end of a round.

A round is what one task serves between two checkpoints. Its answers are sent when it ends, so work
that only has to precede them is done once for all: records of several requests become one batch.
"""

from collections.abc import Callable
from typing import TypeAlias

from trio_kafka.errors import InvariantError

Calls: TypeAlias = list[Callable[[], None]]


class DeferredBatch:
    """Deferred calls of the round that is running, shared by all tasks that serve requests.

    DeferredBatch nest: one task may serve at a yield point of another.
    calls: None while no round is running. number: of the round; grows with each.
    """

    __slots__ = ("calls", "number")

    def __init__(self) -> None:
        self.calls: Calls | None = None
        self.number = 1

    def begin(self) -> Calls | None:
        """Begin a round. Pass the result, the calls of the enclosing round, to `end`."""
        outer, self.calls = self.calls, []
        return outer

    def defer(self, call: Callable[[], None]) -> None:
        """Make `call` at the end of the round, before answers are sent. It must not raise.

        Raises InvariantError outside of a round.
        """
        if self.calls is None:
            raise InvariantError("deferred call outside of a round: begin one first")
        self.calls.append(call)

    def flush(self) -> None:
        """Make the deferred calls, in order, and those that they defer themselves."""
        while self.calls:
            calls, self.calls = self.calls, []
            for call in calls:
                call()

    def end(self, outer: Calls | None) -> None:
        """Flush, then go back to the enclosing round."""
        if self.calls:
            self.flush()
        self.number += 1
        self.calls = outer
