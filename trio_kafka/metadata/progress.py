"""Progress: an offset that only grows, and tasks that wait for it."""

import trio


class Progress:
    """`value` is the exclusive end of what is committed, or published."""

    def __init__(self, value: int = 0) -> None:
        self.value = value
        self._waiting = trio.lowlevel.ParkingLot()
        self._broken: Exception | None = None

    def advance(self, value: int) -> None:
        """Raise the value; a smaller one is ignored."""
        if value > self.value:
            self.value = value
            self._waiting.unpark_all()

    def fail(self, error: Exception) -> None:
        """Stop: every wait for a higher value raises `error`, now and later."""
        self._broken = error
        self._waiting.unpark_all()

    async def wait(self, value: int) -> None:
        """Wait until `value` is reached. Raises the error of `fail`."""
        if self.value >= value:
            await trio.lowlevel.checkpoint()
            return
        while self.value < value:
            if self._broken is not None:
                raise self._broken
            await self._waiting.park()
