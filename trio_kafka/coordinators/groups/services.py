"""Requests of handlers by protocol: `context.groups.classic`, `.consumer` and `.offsets`.

Each method submits events to the shards of groups, and returns what `make` makes of the answers, or
a Delayed; see `Submitter` for errors. The machine of consumer groups is imported for the first
shard or member, as that takes 20 ms.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from attrs import evolve

from trio_kafka.coordinators.effects import Effects
from trio_kafka.coordinators.groups import commits
from trio_kafka.coordinators.groups import offset_values as offsets
from trio_kafka.coordinators.groups.classic import requests
from trio_kafka.coordinators.groups.classic import values as classic
from trio_kafka.coordinators.groups.consumer import values as consumer
from trio_kafka.coordinators.groups.consumer.assignors.registry import Assignors
from trio_kafka.coordinators.groups.consumer.regex_search import Search, Searches
from trio_kafka.coordinators.groups.groups import Event, Groups
from trio_kafka.coordinators.groups.submitter import Submitter
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.scheduling.chunked_work import Steps

if TYPE_CHECKING:
    from trio_kafka.coordinators.groups.consumer.submachine import ConsumerGroups

T = TypeVar("T")
_FEATURE: Final = "group.version"
_PROTOCOL: Final = "consumer"


class ClassicService:
    """Join, sync, heartbeat, leave and describe. `make` gets errors too, as answers of this
    protocol encode them in their own ways.
    """

    def __init__(self, groups: Submitter) -> None:
        self._groups = groups

    def join(
        self,
        group_id: str,
        joining: classic.Joining,
        make: Callable[[classic.Joined | KafkaError], T],
    ) -> Any:
        """Join a group, see `requests.join`. Waits for other members, bounded by their sessions and
        rebalance timeouts.
        """
        settings = self._groups.settings
        low, high = settings.min_session_timeout_ms, settings.max_session_timeout_ms
        if not group_id:
            error = ErrorCode.INVALID_GROUP_ID
        elif not low <= joining.session_timeout_ms <= high:
            error = ErrorCode.INVALID_SESSION_TIMEOUT
        else:
            return self._submit(
                "JoinGroup", group_id, partial(requests.join, group_id, joining), make
            )
        return make(classic.Joined(member_id=joining.member_id, error=error))

    def sync(
        self,
        group_id: str,
        syncing: classic.Syncing,
        make: Callable[[classic.Synced | KafkaError], T],
    ) -> Any:
        """Sync with a group, see `requests.sync`. Waits for the leader, bounded by the rebalance
        timeout.
        """
        return self._submit("SyncGroup", group_id, partial(requests.sync, group_id, syncing), make)

    def heartbeat(
        self, group_id: str, beating: classic.Beating, make: Callable[[KafkaError | None], T]
    ) -> Any:
        """Renew a session, see `requests.heartbeat`."""
        event = partial(requests.heartbeat, group_id, beating)
        return self._submit("Heartbeat", group_id, event, make)

    def leave(
        self,
        group_id: str,
        members: Sequence[classic.Leaving],
        make: Callable[[list[ErrorCode] | KafkaError], T],
    ) -> Any:
        """Leave a group, see `requests.leave`."""
        return self._submit(
            "LeaveGroup", group_id, partial(requests.leave, group_id, members), make
        )

    def describe(
        self, group_ids: Sequence[str], make: Callable[[list[classic.Described | KafkaError]], T]
    ) -> Any:
        """Describe groups, in order, see `requests.describe`."""
        events = ((one, partial(requests.describe, one)) for one in group_ids)
        return self._groups.submit_many("DescribeGroups", events, make)

    def _submit(self, wait: str, group_id: str, event: Event, make: Callable[[Any], T]) -> Any:
        if not group_id:
            return make(KafkaError(ErrorCode.INVALID_GROUP_ID))
        return self._groups.submit_told(wait, group_id, event, make)


class OffsetsService:
    """Commit, fetch and delete offsets."""

    def __init__(self, groups: Submitter) -> None:
        self._groups = groups

    def commit(self, asked: offsets.Commit, make: Callable[[list[int]], T]) -> Any:
        """Commit offsets, see `commits.commit`."""
        event = partial(commits.commit, asked)
        return self._groups.submit("OffsetCommit", asked.group_id, event, make)

    def fetch(
        self,
        asked: Iterable[offsets.FetchOffsets],
        make: Callable[[list[list[offsets.FetchedTopic] | KafkaError]], T],
    ) -> Any:
        """Fetch the offsets of several groups, see `commits.fetch`."""
        events = ((one.group_id, partial(commits.fetch, one)) for one in asked)
        return self._groups.submit_many("OffsetFetch", events, make)

    def delete(
        self,
        group_id: str,
        topics: Sequence[offsets.AskedTopic],
        make: Callable[[list[int]], T],
    ) -> Any:
        """Delete offsets, see `commits.delete`. Raises KafkaError(INVALID_GROUP_ID) for an empty
        group id, which only commits of old clients may have.
        """
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        event = partial(commits.delete, group_id, topics)
        return self._groups.submit("OffsetCommit", group_id, event, make)


class ConsumerService:
    """assignors: those that members can ask for. is_served: whether consumer groups are enabled, by
    `group.version` and `group.coordinator.rebalance.protocols`.
    """

    def __init__(
        self, groups: Submitter, random_bytes: Callable[[int], bytes], searches: Searches
    ) -> None:
        """random_bytes: source of ids for members that have none. searches: run the searches for
        regular expressions.
        """
        self._searches = searches
        self.assignors = Assignors(groups.settings.consumer_assignors)
        self._groups = groups
        self._random_bytes = random_bytes
        self.is_served = False

    def submachine(self, groups: Groups) -> "ConsumerGroups":
        """Return the submachine of a new shard."""
        made: ConsumerGroups = _machine("submachine").ConsumerGroups(
            groups, self._searches, self.assignors
        )
        return made

    def follow(self, image: MetadataImage) -> None:
        """Take over changed settings or features."""
        protocols = self._groups.settings.protocols
        self.is_served = _PROTOCOL in protocols and image.features.get(_FEATURE, 0) >= 1

    def heartbeat(
        self, asked: consumer.Heartbeat, make: Callable[[consumer.HeartbeatAnswer], T]
    ) -> Any:
        """Handle a heartbeat, see `heartbeat.heartbeat`; as `Submitter.submit`.

        Raises KafkaError(UNSUPPORTED_VERSION) if consumer groups are disabled.
        """
        if not self.is_served:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        names = () if asked.assignor is None else self.assignors.names
        _machine("validation").check_heartbeat(asked, names)
        if not asked.member_id:
            asked = evolve(asked, fresh=_as_text(self._random_bytes(16)))
        event = partial(_machine("heartbeat").heartbeat, asked)
        return self._groups.submit("ConsumerGroupHeartbeat", asked.group_id, event, make)

    def search_ended(self, search: Search) -> None:
        """Pass a search for regular expressions that has ended to the shard of its group."""
        self._groups.apply(search.group_id, partial(_machine("topic_regexes").ended, search))

    def describe(
        self,
        group_ids: Sequence[str],
        make: Callable[[list[consumer.DescribedGroup | KafkaError]], T],
    ) -> Any:
        """Describe groups, see `description.describe`; as `Submitter.submit_many`. An empty id is
        answered with INVALID_GROUP_ID.
        """
        if not self.is_served:
            return make([KafkaError(ErrorCode.UNSUPPORTED_VERSION) for _ in group_ids])
        events = ((one, partial(_describe, one)) for one in group_ids)
        return self._groups.submit_many("ConsumerGroupDescribe", events, make)


@cache
def _machine(module: str) -> Any:
    return import_module(f"trio_kafka.coordinators.groups.consumer.{module}")


def _as_text(raw: bytes) -> str:
    """Return an id as Kafka writes it: 22 characters."""
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _describe(group_id: str, groups: Groups, ticket: Any, now_ms: int) -> Steps[Effects]:
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    effects: Steps[Effects] = _machine("description").describe(groups, group_id, ticket, now_ms)
    return effects
