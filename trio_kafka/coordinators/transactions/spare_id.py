"""A producer id in reserve, for ends of transactions, which cannot wait for the controller."""

from collections.abc import Awaitable, Callable
from typing import Final, NoReturn

import trio

from trio_kafka.errors import KafkaError
from trio_kafka.introspect.log import get_logger

_RETRY_S: Final = 1.0
_logger: Final = get_logger(__name__)


class SpareId:
    """At most one id. The first request for one gets None, and has an id fetched."""

    def __init__(self, next_producer_id: Callable[[], Awaitable[int]]) -> None:
        self._next_producer_id = next_producer_id
        self._spare: int | None = None
        self._needed = trio.Event()

    def take(self) -> int | None:
        """Take the id. None: there will be one soon, try again."""
        spare, self._spare = self._spare, None
        self._needed.set()
        return spare

    async def run(self) -> NoReturn:
        """Fetch an id after each `take`, until cancelled."""
        while True:
            await self._needed.wait()
            self._needed = trio.Event()
            if self._spare is None:
                try:
                    self._spare = await self._next_producer_id()
                except KafkaError as error:
                    _logger.warning("no producer id", reason=str(error))
                    await trio.sleep(_RETRY_S)
                    self._needed.set()
