"""Requests of handlers by protocol: `GroupCoordinator.classic`, `.consumer` and `.offsets`.

Each method asks the shards of groups, and returns an answer or a Pending of it; see `Coordinator`
for errors. The machine of consumer groups is imported for the first shard or member, as that takes
20 ms.
"""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final

from attrs import evolve

from trio_kafka.coordinators.groups import commits, transactions
from trio_kafka.coordinators.groups import offset_values as offsets
from trio_kafka.coordinators.groups.classic import values as classic
from trio_kafka.coordinators.groups.classic.joining import join
from trio_kafka.coordinators.groups.classic.requests import describe
from trio_kafka.coordinators.groups.classic.session import heartbeat, leave
from trio_kafka.coordinators.groups.classic.syncing import sync
from trio_kafka.coordinators.groups.consumer import values as consumer
from trio_kafka.coordinators.groups.consumer.assignors.registry import Assignors
from trio_kafka.coordinators.groups.consumer.regex_search import Search, Searches
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.coordinators.groups.transactions import TransactionalCommit
from trio_kafka.coordinators.shards.coordinator import Coordinator
from trio_kafka.coordinators.shards.effects import Effects, Ticket
from trio_kafka.coordinators.shards.pending_reply import value_or_raise
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.pending import Eventual, then
from trio_kafka.replication.leader.markers import TransactionMarker
from trio_kafka.scheduling.chunked_work import Steps

if TYPE_CHECKING:
    from trio_kafka.coordinators.groups.consumer.submachine import ConsumerGroups

_FEATURE: Final = "group.version"
_PROTOCOL: Final = "consumer"
_NO_GROUP: Final = KafkaError(ErrorCode.INVALID_GROUP_ID)
_NOT_COORDINATED: Final = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class ClassicService:
    """Join, sync, heartbeat, leave and describe. Errors are values, as answers of this protocol
    encode them in their own ways: INVALID_GROUP_ID for an empty group id, and those of events.
    """

    def __init__(self, coordinator: Coordinator[Groups], settings: GroupSettings) -> None:
        self.settings = settings
        self._coordinator = coordinator

    def join(
        self, group_id: str, request: classic.Join
    ) -> Eventual[classic.JoinAnswer | KafkaError]:
        """Join a group, see `joining.join`. Waits for other members, bounded by their sessions and
        rebalance timeouts.
        """
        low, high = self.settings.min_session_timeout_ms, self.settings.max_session_timeout_ms
        if not group_id:
            return classic.JoinAnswer(request.member_id, ErrorCode.INVALID_GROUP_ID)
        if not low <= request.session_timeout_ms <= high:
            return classic.JoinAnswer(request.member_id, ErrorCode.INVALID_SESSION_TIMEOUT)
        return self._coordinator.ask(group_id, partial(join, group_id, request), "JoinGroup")

    def sync(
        self, group_id: str, request: classic.Sync
    ) -> Eventual[classic.SyncAnswer | KafkaError]:
        """Sync with a group, see `syncing.sync`. Waits for the leader, bounded by the rebalance
        timeout.
        """
        if not group_id:
            return _NO_GROUP
        return self._coordinator.ask(group_id, partial(sync, group_id, request), "SyncGroup")

    def heartbeat(
        self, group_id: str, request: classic.ClassicHeartbeat
    ) -> Eventual[KafkaError | None]:
        """Renew a session, see `session.heartbeat`."""
        if not group_id:
            return _NO_GROUP
        return self._coordinator.ask(group_id, partial(heartbeat, group_id, request), "Heartbeat")

    def leave(
        self, group_id: str, members: Sequence[classic.LeavingMember]
    ) -> Eventual[list[ErrorCode] | KafkaError]:
        """Leave a group, see `session.leave`."""
        if not group_id:
            return _NO_GROUP
        return self._coordinator.ask(group_id, partial(leave, group_id, members), "LeaveGroup")

    def describe(
        self, group_ids: Sequence[str]
    ) -> Eventual[list[classic.GroupDescription | KafkaError]]:
        """Describe groups, in order, see `requests.describe`."""
        events = ((group_id, partial(describe, group_id)) for group_id in group_ids)
        return self._coordinator.ask_many(events, "DescribeGroups")


class OffsetsService:
    """Commit, fetch and delete offsets."""

    def __init__(self, coordinator: Coordinator[Groups]) -> None:
        self._coordinator = coordinator

    def commit(self, request: offsets.Commit) -> Eventual[list[int] | KafkaError]:
        """Commit offsets, see `commits.commit`. Return an error code for each. An error of the
        group is that of each partition, as the request may have others.
        """
        event = partial(commits.commit, request)
        codes: Eventual[list[int] | KafkaError]
        codes = self._coordinator.ask(request.group_id, event, "OffsetCommit")
        return codes

    def commit_in_transaction(
        self, request: TransactionalCommit
    ) -> Eventual[list[int] | KafkaError]:
        """Commit offsets in a transaction, see `transactions.commit_in_transaction`. Errors are
        those of `commit`.
        """
        event = partial(transactions.commit_in_transaction, request)
        codes: Eventual[list[int] | KafkaError]
        codes = self._coordinator.ask(request.commit.group_id, event, "TxnOffsetCommit")
        return codes

    def end_transaction(self, partition: int, marker: TransactionMarker) -> Eventual[ErrorCode]:
        """End a transaction in a partition of the offsets. Return its error.

        An error of a coordinator becomes NOT_LEADER_OR_FOLLOWER, which the sender of the marker
        retries. Source: KafkaApis.handleWriteTxnMarkersRequest.
        """
        event = partial(transactions.end_transaction, marker)
        code: Eventual[ErrorCode | KafkaError]
        code = self._coordinator.ask_partition(partition, event, "WriteTxnMarkers")
        return then(code, _code_of_marker)

    def fetch(
        self, requests: Iterable[offsets.FetchOffsets]
    ) -> Eventual[list[list[offsets.FetchedTopic] | KafkaError]]:
        """Fetch the offsets of several groups, see `commits.fetch`."""
        events = ((request.group_id, partial(commits.fetch, request)) for request in requests)
        return self._coordinator.ask_many(events, "OffsetFetch")

    def delete(
        self, group_id: str, topics: Sequence[offsets.TopicPartitions]
    ) -> Eventual[list[int]]:
        """Delete offsets, see `commits.delete`. Return an error code for each. Errors of the group
        are raised, now or when the Pending completes.

        Raises KafkaError(INVALID_GROUP_ID) for an empty group id, which only commits of old clients
        may have.
        """
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_GROUP_ID)
        event = partial(commits.delete, group_id, topics)
        codes: Eventual[list[int] | KafkaError]
        codes = self._coordinator.ask(group_id, event, "OffsetCommit")
        return then(codes, value_or_raise)


class ConsumerService:
    """assignors: those that members can ask for. is_served: whether consumer groups are enabled, by
    `group.version` and `group.coordinator.rebalance.protocols`.
    """

    def __init__(
        self,
        coordinator: Coordinator[Groups],
        settings: GroupSettings,
        *,
        random_bytes: Callable[[int], bytes],
        searches: Searches,
    ) -> None:
        """random_bytes: source of ids for members that have none. searches: run the searches for
        regular expressions.
        """
        self.settings = settings
        self.assignors = Assignors(settings.consumer_assignors)
        self.is_served = False
        self._coordinator = coordinator
        self._random_bytes = random_bytes
        self._searches = searches

    def submachine(self, groups: Groups) -> "ConsumerGroups":
        """Return the submachine of a new shard."""
        submachine: ConsumerGroups = _machine("submachine").ConsumerGroups(
            groups, self._searches, self.assignors
        )
        return submachine

    def follow(self, image: MetadataImage) -> None:
        """Take over changed settings or features."""
        protocols = self.settings.protocols
        self.is_served = _PROTOCOL in protocols and image.features.get(_FEATURE, 0) >= 1

    def heartbeat(self, request: consumer.Heartbeat) -> Eventual[consumer.HeartbeatAnswer]:
        """Handle a heartbeat, see `heartbeat.heartbeat`. Errors are raised, now or when the Pending
        completes.

        Raises KafkaError(UNSUPPORTED_VERSION) if consumer groups are disabled.
        """
        if not self.is_served:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        names = () if request.assignor is None else self.assignors.names
        _machine("validation").check_heartbeat(request, names)
        if not request.member_id:
            request = evolve(request, fresh=_as_text(self._random_bytes(16)))
        event = partial(_machine("heartbeat").heartbeat, request)
        answer: Eventual[consumer.HeartbeatAnswer | KafkaError]
        answer = self._coordinator.ask(request.group_id, event, "ConsumerGroupHeartbeat")
        return then(answer, value_or_raise)

    def search_ended(self, search: Search) -> None:
        """Pass a search for regular expressions that has ended to the shard of its group."""
        self._coordinator.apply(search.group_id, partial(_machine("topic_regexes").ended, search))

    def describe(
        self, group_ids: Sequence[str]
    ) -> Eventual[list[consumer.DescribedGroup | KafkaError]]:
        """Describe groups, see `description.describe`; as `Coordinator.ask_many`. An empty id is
        answered with INVALID_GROUP_ID.
        """
        if not self.is_served:
            return [KafkaError(ErrorCode.UNSUPPORTED_VERSION) for _ in group_ids]
        events = ((group_id, partial(_describe, group_id)) for group_id in group_ids)
        return self._coordinator.ask_many(events, "ConsumerGroupDescribe")


def _code_of_marker(answer: ErrorCode | KafkaError) -> ErrorCode:
    code = answer.code if isinstance(answer, KafkaError) else answer
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if code in _NOT_COORDINATED else code


@cache
def _machine(module: str) -> ModuleType:
    return import_module(f"trio_kafka.coordinators.groups.consumer.{module}")


def _as_text(raw: bytes) -> str:
    """Return an id as Kafka writes it: 22 characters."""
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _describe(group_id: str, groups: Groups, ticket: Ticket, now_ms: int) -> Steps[Effects]:
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    effects: Steps[Effects] = _machine("description").describe(groups, group_id, ticket, now_ms)
    return effects
