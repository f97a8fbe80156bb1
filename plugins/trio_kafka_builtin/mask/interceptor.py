"""Fetch responses with masked values, within the client's limits.

A response refers to bytes of a file. For topics with rules they are read here, whole batches only,
so that no byte of an unmasked record follows them, and the file's lease is released. A masked batch
may be larger than the stored one: a response that would exceed `max_bytes`, or a partition's
`partition_max_bytes`, holds fewer batches, but always the first one.
"""

from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from attrs import define

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.decompression import Decompression
from trio_kafka.log.read import read_bytes
from trio_kafka.plugin import Context, PluginContext, TopicId
from trio_kafka.protocol.messages.k01_fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from trio_kafka.records.values import Change
from trio_kafka.replication.leader.read import PartitionFetch
from trio_kafka.replication.leader.session_cache import SessionCache
from trio_kafka.replication.table import Replicas
from trio_kafka_builtin.mask.batches import masked_batches
from trio_kafka_builtin.mask.rules import Masking, Rule, masking_of
from trio_kafka_builtin.mask.settings import MaskSettings
from trio_kafka_builtin.mask.values import UnreadableError, masked

NOTHING: Final = b""
REPLICA_STATE_SINCE: Final = 15  # KIP-903
READ_COMMITTED: Final = 1
_KNOWN_TOPICS: Final = 10_000
PASS, DROP = "pass", "drop"
Forward = Callable[[FetchRequest], Awaitable[FetchResponse | None]]


@define(eq=False, kw_only=True)
class _Part:
    """Partition of a response whose records must be masked, with the client's limits."""

    topic: str
    data: PartitionData
    masking: Masking
    limits: PartitionFetch


class MaskInterceptor:
    """Interceptor: `around` of Fetch."""

    def __init__(
        self, context: PluginContext[MaskSettings], rules: tuple[Rule, ...], salt: str
    ) -> None:
        self._context = context
        self._settings = context.settings
        self._rules = rules
        self._salt = salt
        self._maskings: dict[str, Masking | None] = {}
        self._masked = context.counter("mask_values")
        self._unreadable = context.counter("mask_unreadable_values")

    async def around(
        self, request: FetchRequest, context: Context, forward: Forward
    ) -> FetchResponse | None:
        """Forward the request, and mask the response unless the client is exempt."""
        answer = await forward(request)
        if answer is None or self._may_see(request, context):
            return answer
        most = min(request.max_bytes, context.config.fetch_max_bytes)
        room = most - sum(len(data.records or NOTHING) for _, data in _partitions(answer))
        before = 0  # bytes in the response so far
        for topic, data in _partitions(answer):
            if data.records:
                part = self._part(topic, data, request=request, context=context)
                if part is not None:
                    room += len(data.records)
                    room -= await self._mask(part, request, context, room=room, first=not before)
                before += len(data.records)
        return answer

    def _may_see(self, request: FetchRequest, context: Context) -> bool:
        settings = self._settings
        if context.principal in settings.except_principals:
            return True
        if context.client_id in settings.except_clients:
            return True
        replica = (
            request.replica_state.replica_id
            if context.version >= REPLICA_STATE_SINCE
            else request.replica_id
        )
        # Any consumer can claim to be a follower: only the brokers' own listener is trusted.
        return replica >= 0 and context.listener == settings.replica_listener != ""

    def _part(
        self,
        topic: FetchableTopicResponse,
        data: PartitionData,
        *,
        request: FetchRequest,
        context: Context,
    ) -> _Part | None:
        name = topic.topic
        if not name:
            registered = context.image.topic(TopicId(topic.topic_id))
            if registered is None:  # deleted meanwhile: its rules are unknown
                _refuse(data, ErrorCode.UNKNOWN_TOPIC_ID)
                return None
            name = registered.name
        masking = self._masking(name)
        if masking is None:
            return None
        limits = _limits_of(topic, data, request=request, context=context)
        if limits is None:
            _refuse(data, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return None
        return _Part(topic=name, data=data, masking=masking, limits=limits)

    def _masking(self, topic: str) -> Masking | None:
        try:
            return self._maskings[topic]
        except KeyError:
            if len(self._maskings) >= _KNOWN_TOPICS:
                self._maskings.clear()
            masking = self._maskings[topic] = masking_of(self._rules, topic, self._salt)
            return masking

    async def _mask(
        self, part: _Part, request: FetchRequest, context: Context, *, room: int, first: bool
    ) -> int:
        """Replace a partition's records by masked ones; return their bytes."""
        data = part.data
        promised = data.records or NOTHING
        size = len(promised)
        data.records = NOTHING
        if hasattr(promised, "release"):
            promised.release()
        committed = request.isolation_level == READ_COMMITTED
        end = data.last_stable_offset if committed else data.high_watermark
        error: Exception | None
        try:
            log = context[Replicas].partition(part.topic, data.partition_index).local_log()
            stored = await read_bytes(log, part.limits.offset, size, end_offset=end)
            batches, error = await masked_batches(
                stored,
                self._change(part.masking),
                world=self._context.world,
                decompression=context[Decompression],
                most=min(part.limits.max_bytes, room),
                at_least_one=first,
            )
        except KafkaError as failure:
            batches, error = [], failure
        data.records = b"".join(batches)
        if error is not None and not batches:
            self._refuse(part, error)
        return len(data.records)

    def _refuse(self, part: _Part, error: Exception) -> None:
        if isinstance(error, KafkaError):
            _refuse(part.data, error.code)
        elif isinstance(error, UnreadableError):
            # An error that clients understand: the records are unreadable for them.
            _refuse(part.data, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        else:
            raise error

    def _change(self, masking: Masking) -> Change:
        settings = self._settings
        passes, drops = settings.unreadable == PASS, settings.unreadable == DROP

        def change(value: bytes) -> bytes | None:
            if passes and not masking.may_concern(value):
                return value
            try:
                replaced = masked(value, masking, settings.max_value_bytes)
            except UnreadableError:
                self._unreadable.value += 1
                if passes:
                    return value
                if drops:
                    return None
                raise
            self._masked.value += replaced is not value
            return replaced

        return change


def _partitions(
    answer: FetchResponse,
) -> Iterator[tuple[FetchableTopicResponse, PartitionData]]:
    for topic in answer.responses:
        for data in topic.partitions:
            yield topic, data


def _limits_of(
    topic: FetchableTopicResponse, data: PartitionData, *, request: FetchRequest, context: Context
) -> PartitionFetch | None:
    """Return the client's limits for a partition, from this request or its session."""
    for topic_limits in request.topics:
        if (topic_limits.topic_id, topic_limits.topic) == (topic.topic_id, topic.topic):
            for limits in topic_limits.partitions:
                if limits.partition == data.partition_index:
                    return PartitionFetch(
                        offset=limits.fetch_offset, max_bytes=limits.partition_max_bytes
                    )
    key = (topic.topic or TopicId(topic.topic_id), data.partition_index)
    return context[SessionCache].request_of(request.session_id, key)


def _refuse(data: PartitionData, code: ErrorCode) -> None:
    """Replace a partition's records by an error."""
    stored = data.records
    if stored is not None and hasattr(stored, "release"):
        stored.release()
    data.records = NOTHING
    data.error_code = code
    data.high_watermark = data.last_stable_offset = data.log_start_offset = -1
    data.aborted_transactions = None
