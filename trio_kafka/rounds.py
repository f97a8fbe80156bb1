"""What is put off to the end of a round: of the requests that a reader serves in one go.

Their answers are sent when the round ends. So what has to be done before anybody is told is done
once for all of them: records of several requests become one batch.
"""

from collections.abc import Callable

from trio_kafka.errors import InvariantError


class Rounds:
    """Of all readers of a broker; one may come in between the items of another one. calls: what is
    put off; None: no round goes on. number: of the last round that has begun.
    """

    __slots__ = ("calls", "number")

    def __init__(self) -> None:
        self.calls: list[Callable[[], None]] | None = None
        self.number = 0

    def begin(self) -> list[Callable[[], None]] | None:
        """A round; `end` takes what this returns."""
        outer, self.calls = self.calls, []
        self.number += 1
        return outer

    def put_off(self, call: Callable[[], None]) -> None:
        """Have it called before anybody is told; a round goes on. It must not raise."""
        if self.calls is None:
            raise InvariantError("no round goes on")
        self.calls.append(call)

    def settle(self) -> None:
        """Make the calls, in order, those too that they put off."""
        while self.calls:
            calls, self.calls = self.calls, []
            for call in calls:
                call()

    def end(self, outer: list[Callable[[], None]] | None) -> None:
        """The round is settled; the one that it came into goes on."""
        self.calls = outer
