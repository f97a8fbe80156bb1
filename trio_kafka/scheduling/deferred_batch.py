"""What is put off to the end of a round: of what a reader, or a handler, serves in one go.

Its answers are sent when the round ends. So what has to be done before anybody is told is done
once for all of them: records of several requests become one batch.
"""

from collections.abc import Callable
from typing import TypeAlias

from trio_kafka.errors import InvariantError

Calls: TypeAlias = list[Callable[[], None]]


class Rounds:
    """Of all tasks of a broker that serve; one may come in between two items of another one. calls:
    what is put off, None while nobody serves. number: of the round that goes on.
    """

    __slots__ = ("calls", "number")

    def __init__(self) -> None:
        self.calls: Calls | None = None
        self.number = 1

    def begin(self) -> Calls | None:
        """A task's turn: round after round. `end` takes what this returns."""
        outer, self.calls = self.calls, []
        return outer

    def put_off(self, call: Callable[[], None]) -> None:
        """Have it called at the end of the round, before anybody is told. It must not raise."""
        if self.calls is None:
            raise InvariantError("no round goes on")
        self.calls.append(call)

    def settle(self) -> None:
        """The end of a round: make the calls, in order, those too that they put off."""
        while self.calls:
            calls, self.calls = self.calls, []
            for call in calls:
                call()

    def end(self, outer: Calls | None) -> None:
        """The turn is over, and its last round; the one that it came into goes on."""
        self.settle()
        self.number += 1
        self.calls = outer
