"""Classic protocol for handlers: `context.groups.classic`.

Each method submits an event to the group's shard, and returns what `make` makes of the answer, or a
Delayed. `make` gets errors too, as answers of this protocol encode them in their own ways.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, TypeVar

from trio_kafka.coordinators.groups.classic import requests
from trio_kafka.coordinators.groups.classic.values import (
    Beating,
    Described,
    Joined,
    Joining,
    Leaving,
    Synced,
    Syncing,
)
from trio_kafka.coordinators.groups.groups import Event
from trio_kafka.coordinators.groups.submitter import Submitter
from trio_kafka.errors import ErrorCode, KafkaError

T = TypeVar("T")


class ClassicService:
    """Join, sync, heartbeat, leave and describe."""

    def __init__(self, groups: Submitter) -> None:
        self._groups = groups

    def join(
        self, group_id: str, joining: Joining, make: Callable[[Joined | KafkaError], T]
    ) -> Any:
        """Join a group, see `requests.join`. Waits for other members, bounded by their sessions and
        rebalance timeouts.
        """
        settings = self._groups.settings
        low, high = settings.min_session_timeout_ms, settings.max_session_timeout_ms
        if not group_id:
            return make(Joined(member_id=joining.member_id, error=ErrorCode.INVALID_GROUP_ID))
        if not low <= joining.session_timeout_ms <= high:
            error = ErrorCode.INVALID_SESSION_TIMEOUT
            return make(Joined(member_id=joining.member_id, error=error))
        event = partial(requests.join, group_id, joining)
        return self._groups.submit_told("JoinGroup", group_id, event, make)

    def sync(
        self, group_id: str, syncing: Syncing, make: Callable[[Synced | KafkaError], T]
    ) -> Any:
        """Sync with a group, see `requests.sync`. Waits for the leader, bounded by the rebalance
        timeout.
        """
        if not group_id:
            return make(_no_group())
        event = partial(requests.sync, group_id, syncing)
        return self._groups.submit_told("SyncGroup", group_id, event, make)

    def heartbeat(
        self, group_id: str, beating: Beating, make: Callable[[KafkaError | None], T]
    ) -> Any:
        """Renew a session, see `requests.heartbeat`."""
        if not group_id:
            return make(_no_group())
        event = partial(requests.heartbeat, group_id, beating)
        return self._groups.submit_told("Heartbeat", group_id, event, make)

    def leave(
        self,
        group_id: str,
        members: Sequence[Leaving],
        make: Callable[[list[ErrorCode] | KafkaError], T],
    ) -> Any:
        """Leave a group, see `requests.leave`."""
        if not group_id:
            return make(_no_group())
        event = partial(requests.leave, group_id, members)
        return self._groups.submit_told("LeaveGroup", group_id, event, make)

    def describe(
        self, group_ids: Sequence[str], make: Callable[[list[Described | KafkaError]], T]
    ) -> Any:
        """Describe groups, in order, see `requests.describe`."""
        events: Iterator[tuple[str, Event]] = (
            (group_id, partial(requests.describe, group_id)) for group_id in group_ids
        )
        return self._groups.submit_many("DescribeGroups", events, make)


def _no_group() -> KafkaError:
    return KafkaError(ErrorCode.INVALID_GROUP_ID)
