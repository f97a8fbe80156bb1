"""Requests of a transactional producer to its coordinators, with retries."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.client import Client
from trio_kafka.clients.errors import (
    ClientError,
    Place,
    RetriableError,
    TimedOutError,
    error_of,
)
from trio_kafka.clients.group_metadata import GroupMetadata
from trio_kafka.clients.links.link import BrokerLink
from trio_kafka.clients.producer.sequences import Identity
from trio_kafka.clients.producer.transactions.coordinator_errors import (
    DENIED,
    FATAL_TO_ADD,
    coordinator_error,
)
from trio_kafka.clients.settings.producer import ProducerSettings
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from trio_kafka.protocol.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from trio_kafka.protocol.messages.k26_end_txn import EndTxnRequest
from trio_kafka.protocol.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

T = TypeVar("T")
GROUP: Final = 0
TRANSACTION: Final = 1
FEATURE: Final = "transaction.version"
_NEW_FROM: Final = 2  # level of the feature with the newer protocol
# Newest versions of the older protocol.
OLD_PRODUCE: Final = 11
_OLD_END: Final = 4
_OLD_OFFSETS: Final = 4
_NEW_OFFSETS: Final = 5  # names topics
_FIND: Final = 3  # asks for one key
_ADD: Final = 3  # for clients
_ELSEWHERE: Final = frozenset({ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE})


@define(eq=False, kw_only=True)
class Coordinators:
    """Asks the coordinators of a transactional id and of groups.

    Each call repeats its request until its deadline. Raises FatalError and its kinds,
    AbortableError, and TimedOutError.
    """

    client: Client
    settings: ProducerSettings
    transactional_id: str
    _nodes: dict[tuple[int, str], int] = field(factory=dict, init=False)

    async def identify(self, current: Identity | None, *, timeout_s: float) -> Identity:
        """Return the id and a new epoch; ends the transaction that was left open.

        current: of this producer, whose epoch is renewed (KIP-360); None: it has none.
        """
        request = InitProducerIdRequest(
            self.transactional_id,
            self.settings.transaction_timeout_ms,
            producer_id=-1 if current is None else current.producer_id,
            producer_epoch=-1 if current is None else current.epoch,
        )

        async def attempt() -> Identity:
            node = await self._find(TRANSACTION, self.transactional_id)
            answer = await self._link(node).ask(request, timeout_s=self._request_s)
            code = error_of(answer.error_code)
            abortable = current is not None and code in DENIED
            self._check(code, TRANSACTION, self.transactional_id, abortable=abortable)
            return Identity(answer.producer_id, answer.producer_epoch)

        return await self._retry(attempt, timeout_s)

    async def uses_new_protocol(self, *, timeout_s: float) -> bool:
        """Return whether the cluster has the newer protocol."""

        async def attempt() -> bool:
            link = self._link(await self._find(TRANSACTION, self.transactional_id))
            answer = await link.ask(
                ApiVersionsRequest("trio-kafka", "1"), timeout_s=self._request_s
            )
            levels = {row.name: row.max_version_level for row in answer.finalized_features}
            return levels.get(FEATURE, 0) >= _NEW_FROM

        return await self._retry(attempt, timeout_s)

    async def add(
        self, places: set[TopicPartition], identity: Identity, *, timeout_s: float
    ) -> None:
        """Add partitions to the transaction."""
        topics: dict[str, list[int]] = {}
        for place in sorted(places):
            topics.setdefault(place.topic, []).append(place.partition)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=identity.producer_id,
            v3_and_below_producer_epoch=identity.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name, numbers) for name, numbers in topics.items()
            ],
        )

        async def attempt() -> None:
            node = await self._find(TRANSACTION, self.transactional_id)
            answer = await self._link(node).ask(request, timeout_s=self._request_s, at_most=_ADD)
            codes = [
                error_of(row.partition_error_code)
                for topic in answer.results_by_topic_v3_and_below
                for row in topic.results_by_partition
            ]
            # The others are not attempted where one is rejected.
            codes.sort(key=lambda code: code == ErrorCode.OPERATION_NOT_ATTEMPTED)
            for code in codes:
                abortable = code not in FATAL_TO_ADD
                self._check(code, TRANSACTION, self.transactional_id, abortable=abortable)

        await self._retry(attempt, timeout_s)

    async def end(
        self, identity: Identity, *, commits: bool, is_new_protocol: bool, timeout_s: float
    ) -> Identity | None:
        """End the transaction; return the identity for the next one, if it is a new one."""
        request = EndTxnRequest(
            self.transactional_id, identity.producer_id, identity.epoch, commits
        )
        at_most = None if is_new_protocol else _OLD_END

        async def attempt() -> Identity | None:
            node = await self._find(TRANSACTION, self.transactional_id)
            answer = await self._link(node).ask(request, timeout_s=self._request_s, at_most=at_most)
            self._check(answer.error_code, TRANSACTION, self.transactional_id)
            if not is_new_protocol or answer.producer_id < 0:
                return None
            return Identity(answer.producer_id, answer.producer_epoch)

        return await self._retry(attempt, timeout_s)

    async def send_offsets(
        self,
        offsets: Mapping[TopicPartition, int],
        group: GroupMetadata,
        identity: Identity,
        *,
        is_new_protocol: bool,
        timeout_s: float,
    ) -> None:
        """Store a group's offsets as a part of the transaction.

        In the older protocol the group was added before.
        """
        topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for place, offset in sorted(offsets.items()):
            topics.setdefault(place.topic, []).append(
                TxnOffsetCommitRequestPartition(place.partition, offset, -1, "")
            )
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group.group_id,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            generation_id_or_member_epoch=group.generation,
            member_id=group.member_id,
            group_instance_id=group.instance_id,
            topics=[
                TxnOffsetCommitRequestTopic(name, partitions=rows) for name, rows in topics.items()
            ],
        )
        at_most = _NEW_OFFSETS if is_new_protocol else _OLD_OFFSETS

        async def attempt() -> None:
            node = await self._find(GROUP, group.group_id)
            answer = await self._link(node).ask(request, timeout_s=self._request_s, at_most=at_most)
            for topic in answer.topics:
                for row in topic.partitions:
                    self._check(row.error_code, GROUP, group.group_id)

        await self._retry(attempt, timeout_s)

    async def add_group(self, group_id: str, identity: Identity, *, timeout_s: float) -> None:
        """Add a group to the transaction (older protocol)."""
        request = AddOffsetsToTxnRequest(
            self.transactional_id, identity.producer_id, identity.epoch, group_id
        )

        async def attempt() -> None:
            node = await self._find(TRANSACTION, self.transactional_id)
            answer = await self._link(node).ask(request, timeout_s=self._request_s)
            self._check(answer.error_code, TRANSACTION, self.transactional_id)

        await self._retry(attempt, timeout_s)

    async def _find(self, kind: int, key: str) -> int:
        """Return the node of a coordinator."""
        node = self._nodes.get((kind, key))
        if node is not None and node in self.client.metadata.cache.brokers:
            return node
        any_node = await self.client.metadata.wait_broker()
        request = FindCoordinatorRequest(key=key, key_type=kind)
        answer = await self.client.links[any_node].ask(
            request, timeout_s=self._request_s, at_most=_FIND
        )
        self._check(answer.error_code, kind, key)
        if answer.node_id not in self.client.metadata.cache.brokers:
            self.client.metadata.request_refresh()
            raise RetriableError(f"coordinator {answer.node_id} is not known yet")
        self._nodes[kind, key] = answer.node_id
        return answer.node_id

    def _check(self, number: int, kind: int, key: str, *, abortable: bool = False) -> None:
        """Raise the error of an answer. A coordinator that has moved is forgotten.

        abortable: see `coordinator_error`.
        """
        code = error_of(number)
        if not code:
            return
        if code in _ELSEWHERE:
            self._nodes.pop((kind, key), None)
        raise coordinator_error(code, self.transactional_id, key, abortable=abortable)

    async def _retry(self, attempt: Callable[[], Awaitable[T]], timeout_s: float) -> T:
        """Return the result of an attempt; repeat it after failures that may pass.

        `sent` of the error says whether any attempt may have had an effect.
        """
        failure: ClientError | None = None
        failures = 0
        is_sent = False
        with trio.move_on_after(timeout_s):
            while True:
                try:
                    return await attempt()
                except RetriableError as error:
                    failure = error
                    is_sent |= error.sent
                    if error.code is None:  # the connection is lost: the coordinator may move
                        self._nodes.clear()
                except ClientError as error:
                    error.sent |= is_sent
                    raise
                failures += 1
                chance = self.client.world.random.random()
                await trio.sleep(self.settings.retry_backoff.pause_s(failures, chance))
        place = Place() if failure is None else failure.place
        reason = f"{self.transactional_id}: no answer within {timeout_s:g} s: {failure}"
        raise TimedOutError(reason, place=place, sent=is_sent)

    def _link(self, node: int) -> BrokerLink:
        return self.client.links[node]

    @property
    def _request_s(self) -> float:
        return self.settings.request_timeout_s
