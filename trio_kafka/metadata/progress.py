"""An offset that only grows, and who waits for it."""

import trio


class Progress:
    """`value` is reached: an exclusive end of what is committed, or published."""

    def __init__(self, value: int = 0) -> None:
        self.value = value
        self._waiting = trio.lowlevel.ParkingLot()
        self._broken: Exception | None = None

    def advance(self, value: int) -> None:
        """The end has moved; a smaller value changes nothing."""
        if value > self.value:
            self.value = value
            self._waiting.unpark_all()

    def fail(self, error: Exception) -> None:
        """It will move no more: who waits for more gets `error`, now and later."""
        self._broken = error
        self._waiting.unpark_all()

    async def wait(self, value: int) -> None:
        """Until `value` is reached. Raises what `fail` was given."""
        if self.value >= value:
            await trio.lowlevel.checkpoint()
            return
        while self.value < value:
            if self._broken is not None:
                raise self._broken
            await self._waiting.park()
