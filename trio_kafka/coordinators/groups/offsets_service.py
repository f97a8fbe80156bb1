"""Committed offsets for handlers: `context.groups.offsets`.

Each method submits an event to the group's shard, and returns what `make` makes of the answer, or a
Delayed. Raises KafkaError as `Submitter.submit`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from trio_kafka.coordinators.groups import commits
from trio_kafka.coordinators.groups import offset_values as values
from trio_kafka.coordinators.groups.groups import Event
from trio_kafka.coordinators.groups.submitter import Submitter
from trio_kafka.errors import ErrorCode, KafkaError

T = TypeVar("T")
LOOKUPS: Final = "OffsetFetch"
COMMITS: Final = "OffsetCommit"


class OffsetsService:
    """Commit, fetch and delete offsets."""

    def __init__(self, coordinator: Submitter) -> None:
        self._coordinator = coordinator

    def commit(self, asked: values.Commit, make: Callable[[list[int]], T]) -> Any:
        """Commit offsets, see `commits.commit`."""
        event, groups = partial(commits.commit, asked), self._coordinator
        return groups.submit(COMMITS, asked.group_id, event, make, timeout_s=groups.timeout_s)

    def fetch(
        self,
        asked: Iterable[values.FetchOffsets],
        make: Callable[[list[list[values.FetchedTopic] | KafkaError]], T],
    ) -> Any:
        """Fetch the offsets of several groups, see `commits.fetch`; as `Submitter.submit_many`."""
        events: Iterator[tuple[str, Event]] = (
            (one.group_id, partial(commits.fetch, one)) for one in asked
        )
        groups = self._coordinator
        return groups.submit_many(LOOKUPS, events, make, timeout_s=groups.timeout_s)

    def delete(
        self,
        group_id: str,
        topics: Sequence[values.AskedTopic],
        make: Callable[[list[int]], T],
    ) -> Any:
        """Delete offsets, see `commits.delete`. Raises KafkaError(INVALID_GROUP_ID) for an empty
        group id, which only commits of old clients may have.
        """
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        event = partial(commits.delete, group_id, topics)
        groups = self._coordinator
        return groups.submit(COMMITS, group_id, event, make, timeout_s=groups.timeout_s)
