"""Executor of decisions: the queue in front of the metadata log.

Theory of operation. A request is a list of items, each with a decision: a function of the present
image that returns a result and records. Items are decided one by one; between requests, the lock of
the writer is the queue, first come, first served. A decision is appended at once and without
waiting, so the next one sees it as the present, and all decisions that are appended while the log
syncs share its next sync. A refused item gets its error and writes nothing; the others are not
affected. The request is answered when its last record is committed and every publisher has seen
it: a client that reads "created" finds the topic at this broker. After the deadline, or when this
node loses its epoch, the items without an error get one, though their records may still be
committed. A request that only validates decides without appending, and waits for nothing.
"""

from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar

import trio

from trio_kafka.attributes import frozen
from trio_kafka.controller.decision import Decision
from trio_kafka.controller.writer import Writer
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.publisher import Loader
from trio_kafka.metadata.source import MetadataSource
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.scheduling.loop_budget import in_steps

T = TypeVar("T")
K = TypeVar("K")
Decide = Callable[[], Decision[T]]
_SLICE: Final = 200  # items in one step


@frozen
class _Items(Generic[K, T]):
    """Items of one request, in order, and the keys that occur more than once."""

    decisions: list[tuple[K, Decide[T]]]
    repeated: set[K]


class Executor:
    """Executor of one controller. Decisions are appended without waiting; many share one sync."""

    def __init__(self, source: MetadataSource, loader: Loader, writer: Writer) -> None:
        self._source = source
        self._loader = loader
        self._writer = writer

    async def decide(self, decide: Decide[T], deadline: float, *, validate_only: bool = False) -> T:
        """Return the result of one decision. Raises KafkaError, also that of `decide`."""
        results = await self.each([("", decide)], deadline, validate_only=validate_only)
        result = results.pop("")
        if isinstance(result, KafkaError):
            try:
                raise result
            finally:
                del result  # breaks a reference cycle through this frame
        return result

    async def each(
        self,
        decisions: Iterable[tuple[K, Decide[T]]],
        deadline: float,
        *,
        validate_only: bool = False,
    ) -> dict[K, T | KafkaError]:
        """Decide on each item independently; return when all records are published.

        deadline: by Trio's clock. An item that is named twice gets an error.
        """
        results: dict[K, T | KafkaError] = {}
        items = await in_steps(_listed(decisions))
        end = 0
        loss: KafkaError | None = None
        with trio.move_on_at(deadline):
            for key, decide in items.decisions:
                if key in items.repeated:
                    results[key] = KafkaError(ErrorCode.INVALID_REQUEST, f"{key} is named twice")
                    continue
                try:
                    results[key], end = await self._writer.write(decide, validate_only)
                except KafkaError as error:
                    results[key] = error.as_value()
                await self._writer.pause()
            try:
                await self.settle(0 if validate_only else end)
            except KafkaError as error:
                loss = error.as_value()
            else:
                return results
        loss = loss or KafkaError(ErrorCode.REQUEST_TIMED_OUT, "the deadline has passed")
        await in_steps(_lose(results, items, loss))
        return results

    async def settle(self, end: int) -> None:
        """Wait until all records below `end` are published. Raises KafkaError if that fails."""
        await self._source.wait_committed(end)
        await self._loader.wait_published(end)


def _listed(decisions: Iterable[tuple[K, Decide[T]]]) -> Steps[_Items[K, T]]:
    items: list[tuple[K, Decide[T]]] = []
    keys: set[K] = set()
    repeated: set[K] = set()
    for item in decisions:
        key = item[0]
        (repeated if key in keys else keys).add(key)
        items.append(item)
        if not len(items) % _SLICE:
            yield
    return _Items(items, repeated)


def _lose(results: dict[K, T | KafkaError], items: _Items[K, T], loss: KafkaError) -> Steps[None]:
    """Set the error `loss` for every item without an error."""
    for number, (key, _) in enumerate(items.decisions, 1):
        if not isinstance(results.get(key), KafkaError):
            results[key] = loss
        if not number % _SLICE:
            yield
