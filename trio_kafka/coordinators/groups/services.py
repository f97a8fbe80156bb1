"""Requests of handlers by protocol: `context.groups.classic`, `.consumer` and `.offsets`.

Each method submits events to the shards of groups, and returns an answer or a Pending of it; see
`Submitter` for errors. The machine of consumer groups is imported for the first
shard or member, as that takes 20 ms.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

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
from trio_kafka.pending import Eventual
from trio_kafka.scheduling.chunked_work import Steps

if TYPE_CHECKING:
    from trio_kafka.coordinators.groups.consumer.submachine import ConsumerGroups

_FEATURE: Final = "group.version"
_PROTOCOL: Final = "consumer"


class ClassicService:
    """Join, sync, heartbeat, leave and describe. Errors are values, as answers of this protocol
    encode them in their own ways.
    """

    def __init__(self, groups: Submitter) -> None:
        self._groups = groups

    def join(
        self, group_id: str, joining: classic.Joining
    ) -> Eventual[classic.Joined | KafkaError]:
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
            event = partial(requests.join, group_id, joining)
            answer: Eventual[classic.Joined | KafkaError]
            answer = self._submit("JoinGroup", group_id, event)
            return answer
        return classic.Joined(member_id=joining.member_id, error=error)

    def sync(
        self, group_id: str, syncing: classic.Syncing
    ) -> Eventual[classic.Synced | KafkaError]:
        """Sync with a group, see `requests.sync`. Waits for the leader, bounded by the rebalance
        timeout.
        """
        event = partial(requests.sync, group_id, syncing)
        answer: Eventual[classic.Synced | KafkaError] = self._submit("SyncGroup", group_id, event)
        return answer

    def heartbeat(self, group_id: str, beating: classic.Beating) -> Eventual[KafkaError | None]:
        """Renew a session, see `requests.heartbeat`."""
        event = partial(requests.heartbeat, group_id, beating)
        answer: Eventual[KafkaError | None] = self._submit("Heartbeat", group_id, event)
        return answer

    def leave(
        self, group_id: str, members: Sequence[classic.Leaving]
    ) -> Eventual[list[ErrorCode] | KafkaError]:
        """Leave a group, see `requests.leave`."""
        event = partial(requests.leave, group_id, members)
        codes: Eventual[list[ErrorCode] | KafkaError]
        codes = self._submit("LeaveGroup", group_id, event)
        return codes

    def describe(self, group_ids: Sequence[str]) -> Eventual[list[classic.Described | KafkaError]]:
        """Describe groups, in order, see `requests.describe`."""
        events = ((one, partial(requests.describe, one)) for one in group_ids)
        return self._groups.submit_many("DescribeGroups", events)

    def _submit(self, wait: str, group_id: str, event: Event) -> Any:
        if not group_id:
            return KafkaError(ErrorCode.INVALID_GROUP_ID)
        return self._groups.submit_for_outcome(wait, group_id, event)


class OffsetsService:
    """Commit, fetch and delete offsets."""

    def __init__(self, groups: Submitter) -> None:
        self._groups = groups

    def commit(self, asked: offsets.Commit) -> Eventual[list[int]]:
        """Commit offsets, see `commits.commit`. Return an error code for each."""
        event = partial(commits.commit, asked)
        answer: Eventual[list[int]] = self._groups.submit("OffsetCommit", asked.group_id, event)
        return answer

    def fetch(
        self, asked: Iterable[offsets.FetchOffsets]
    ) -> Eventual[list[list[offsets.FetchedTopic] | KafkaError]]:
        """Fetch the offsets of several groups, see `commits.fetch`."""
        events = ((one.group_id, partial(commits.fetch, one)) for one in asked)
        return self._groups.submit_many("OffsetFetch", events)

    def delete(self, group_id: str, topics: Sequence[offsets.AskedTopic]) -> Eventual[list[int]]:
        """Delete offsets, see `commits.delete`. Return an error code for each.

        Raises KafkaError(INVALID_GROUP_ID) for an empty group id, which only commits of old clients
        may have.
        """
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        event = partial(commits.delete, group_id, topics)
        codes: Eventual[list[int]] = self._groups.submit("OffsetCommit", group_id, event)
        return codes


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

    def heartbeat(self, asked: consumer.Heartbeat) -> Eventual[consumer.HeartbeatAnswer]:
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
        answer: Eventual[consumer.HeartbeatAnswer] = self._groups.submit(
            "ConsumerGroupHeartbeat", asked.group_id, event
        )
        return answer

    def search_ended(self, search: Search) -> None:
        """Pass a search for regular expressions that has ended to the shard of its group."""
        self._groups.apply(search.group_id, partial(_machine("topic_regexes").ended, search))

    def describe(
        self, group_ids: Sequence[str]
    ) -> Eventual[list[consumer.DescribedGroup | KafkaError]]:
        """Describe groups, see `description.describe`; as `Submitter.submit_many`. An empty id is
        answered with INVALID_GROUP_ID.
        """
        if not self.is_served:
            return [KafkaError(ErrorCode.UNSUPPORTED_VERSION) for _ in group_ids]
        events = ((one, partial(_describe, one)) for one in group_ids)
        return self._groups.submit_many("ConsumerGroupDescribe", events)


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
