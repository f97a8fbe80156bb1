"""Executor of decisions: writes them, and returns results once they are committed and published.

A client that is told that a topic exists can so find it. After the deadline the result is
REQUEST_TIMED_OUT, but records that were appended may still be committed.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

import trio

from trio_kafka.controller.decision import Decision
from trio_kafka.controller.writer import Writer
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.publisher import Loader
from trio_kafka.metadata.source import MetadataSource
from trio_kafka.scheduling.chunked_work import Steps, in_slices
from trio_kafka.scheduling.loop_budget import in_steps

T = TypeVar("T")
K = TypeVar("K")
_SLICE: Final = 200  # items in one step


class Executor:
    """Executor of one controller. Decisions are appended without waiting; many share one sync."""

    def __init__(self, source: MetadataSource, loader: Loader, writer: Writer) -> None:
        self._source = source
        self._loader = loader
        self._writer = writer

    async def one(
        self, decide: Callable[[], Decision[T]], deadline: float, *, validate_only: bool = False
    ) -> T:
        """Return the result of one decision. Raises KafkaError, also that of `decide`."""
        found = await self.each([("", decide)], deadline, validate_only=validate_only)
        result = found.pop("")
        if isinstance(result, KafkaError):
            try:
                raise result
            finally:
                del result  # breaks a reference cycle through this frame
        return result

    async def each(
        self,
        wanted: Iterable[tuple[K, Callable[[], Decision[T]]]],
        deadline: float,
        *,
        validate_only: bool = False,
    ) -> dict[K, T | KafkaError]:
        """Decide on each item independently; return when all records are published.

        deadline: by Trio's clock. An item that is named twice gets an error.
        """
        found: dict[K, T | KafkaError] = {}
        items, twice = await in_steps(_listed(wanted))
        end = 0
        with trio.move_on_at(deadline) as scope:
            for key, decide in items:
                if key in twice:
                    found[key] = KafkaError(ErrorCode.INVALID_REQUEST, f"{key} is named twice")
                    continue
                try:
                    found[key], end = await self._writer.write(decide, validate_only)
                except KafkaError as error:
                    found[key] = error.as_value()
                await self._writer.pause()
            lost = await self._outcome(0 if validate_only else end)
            if lost is None:
                return found
        if scope.cancelled_caught:
            lost = KafkaError(ErrorCode.REQUEST_TIMED_OUT, "the deadline has passed")
        if lost is not None:
            await in_steps(_lose(found, items, lost))
        return found

    async def settle(self, end: int) -> None:
        """Wait until all records below `end` are published. Raises KafkaError if that fails."""
        await self._source.wait_committed(end)
        await self._loader.wait_published(end)

    async def _outcome(self, end: int) -> KafkaError | None:
        """Wait as `settle`; return the error instead of raising it."""
        try:
            await self.settle(end)
        except KafkaError as error:
            return error.as_value()
        return None


def _listed(
    wanted: Iterable[tuple[K, Callable[[], Decision[T]]]],
) -> Steps[tuple[list[tuple[K, Callable[[], Decision[T]]]], set[K]]]:
    """Return the items, and the keys that occur more than once."""
    items: list[tuple[K, Callable[[], Decision[T]]]] = []
    seen: set[K] = set()
    twice: set[K] = set()
    for some in in_slices(wanted, _SLICE):
        for item in some:
            key = item[0]
            (twice if key in seen else seen).add(key)
        items += some
        yield
    return items, twice


def _lose(
    found: dict[K, T | KafkaError],
    items: Iterable[tuple[K, Callable[[], Decision[T]]]],
    lost: KafkaError,
) -> Steps[None]:
    """Set the error `lost` for every item without an error."""
    for some in in_slices(items, _SLICE):
        for key, _ in some:
            if not isinstance(found.get(key), KafkaError):
                found[key] = lost
        yield
