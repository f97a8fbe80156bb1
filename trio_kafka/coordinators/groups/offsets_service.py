"""Committed offsets for handlers: `context.groups.offsets`.

Each method submits an event to the group's shard, and returns what `make` makes of the answer, or a
Delayed. Raises KafkaError as `Submitter.submit`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from trio_kafka.coordinators.groups import commits
from trio_kafka.coordinators.groups import offset_values as values
from trio_kafka.coordinators.groups.groups import Event
from trio_kafka.coordinators.groups.submitter import Submitter
from trio_kafka.errors import ErrorCode, KafkaError

T = TypeVar("T")


class OffsetsService:
    """Commit, fetch and delete offsets."""

    def __init__(self, groups: Submitter) -> None:
        self._groups = groups

    def commit(self, asked: values.Commit, make: Callable[[list[int]], T]) -> Any:
        """Commit offsets, see `commits.commit`."""
        event = partial(commits.commit, asked)
        return self._groups.submit("OffsetCommit", asked.group_id, event, make)

    def fetch(
        self,
        asked: Iterable[values.FetchOffsets],
        make: Callable[[list[list[values.FetchedTopic] | KafkaError]], T],
    ) -> Any:
        """Fetch the offsets of several groups, see `commits.fetch`; as `Submitter.submit_many`."""
        events: Iterator[tuple[str, Event]] = (
            (one.group_id, partial(commits.fetch, one)) for one in asked
        )
        return self._groups.submit_many("OffsetFetch", events, make)

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
        return self._groups.submit("OffsetCommit", group_id, event, make)
