"""Meaning of the responses to Fetch requests. Does no I/O.

A response counts for a partition only if its next offset and its leader epoch are still those of
the request: a seek, a revocation or a new leader meanwhile makes it void. Only the first batch of a
response may be larger than the limits, as Kafka has it.
"""

from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.clients.consumer.fetch_requests import FetchAttempt
from trio_kafka.clients.consumer.fetch_rows import FetchRows
from trio_kafka.clients.consumer.fetched import FetchedData, whole_end
from trio_kafka.clients.consumer.partition_state import PartitionState, Phase
from trio_kafka.clients.consumer.session import FetchRow
from trio_kafka.clients.errors import (
    Place,
    RecordTooLargeError,
    client_error,
    error_of,
)
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k01_fetch import FetchResponse, PartitionData

# The user need not know of these: another attempt, at another leader maybe, will do.
_PASSING: Final = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
_OF_SESSIONS: Final = frozenset(
    {ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH}
)


@frozen(eq=False)
class FetchResponses:
    """Takes responses, and changes positions and rows."""

    rows: FetchRows

    def answered(self, attempt: FetchAttempt, response: FetchResponse, now: float) -> None:
        """Take a response."""
        node = attempt.target
        node.reserved = None
        code = error_of(response.error_code)
        if code:
            node.session.failed(code)
            self.rows.is_stale |= code not in _OF_SESSIONS
            self.rows.pause(node, now)
            return
        node.failures, node.not_before = 0, float("-inf")
        node.session.succeeded(response.session_id)
        for topic in response.responses:
            name = topic.topic or self.rows.cache.name_of(topic.topic_id)
            for part in topic.partitions:
                at = TopicPartition(name or "", part.partition_index)
                row, state = attempt.rows.get(at), self.rows.positions.states.get(at)
                if row is not None and state is not None and _is_valid(state, row):
                    self._take(state, part, attempt.node, now)

    def failed(self, attempt: FetchAttempt, now: float) -> None:
        """Note a request without a response."""
        node = attempt.target
        node.reserved = None
        node.session.failed()
        self.rows.is_stale = True
        self.rows.pause(node, now)
        for at in attempt.rows:
            state = self.rows.positions.states.get(at)
            if state is not None and state.replica == attempt.node:
                self.rows.leave_replica(state)

    def _take(self, state: PartitionState, part: PartitionData, node: int, now: float) -> None:
        code = error_of(part.error_code)
        if code:
            self._rejected(state, code, node, now)
            return
        state.failures = 0
        state.high_watermark = part.high_watermark
        state.last_stable = part.last_stable_offset
        if part.log_start_offset >= 0:
            state.log_start = part.log_start_offset
        if part.preferred_read_replica >= 0 and part.preferred_read_replica != node:
            self.rows.read_replica(state, part.preferred_read_replica, now)
        data = part.records
        if isinstance(data, memoryview) and len(data):
            self._add(state, data, part, now)

    def _add(
        self, state: PartitionState, data: memoryview, part: PartitionData, now: float
    ) -> None:
        start = state.fetch_from
        if start is None:
            return
        place = Place(topic=state.at.topic, partition=state.at.partition)
        try:
            end = whole_end(data, start)
        except KafkaError as error:
            self.rows.positions.failed(state, client_error(error.code, error.message, place=place))
            self.rows.wait(state, now)
            return
        if end == start:
            reason = f"the batch at {start.offset} is larger than the response of {len(data)} bytes"
            self.rows.positions.failed(state, RecordTooLargeError(reason, place=place))
            self.rows.wait(state, now)
            return
        aborted = [(row.producer_id, row.first_offset) for row in part.aborted_transactions or ()]
        fetched = FetchedData(
            data,
            start,
            end,
            aborted if self.rows.limits.isolation else (),
            checks_crc=self.rows.limits.checks_crc,
        )
        self.rows.positions.fetched(state, fetched)

    def _rejected(self, state: PartitionState, code: ErrorCode, node: int, now: float) -> None:
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            if state.replica == node:  # a follower may be behind: the leader decides
                self.rows.leave_replica(state)
            elif state.buffer:  # first the user gets what is buffered
                self.rows.wait(state, now)
            else:
                self.rows.positions.out_of_range(state)
            return
        state.replica = None
        self.rows.is_stale = True
        if not code.retriable and code not in _PASSING:
            place = Place(topic=state.at.topic, partition=state.at.partition)
            self.rows.positions.failed(state, client_error(code, place=place))
        self.rows.wait(state, now)


def _is_valid(state: PartitionState, row: FetchRow) -> bool:
    """Return whether a response to a row is about the present position."""
    return (
        state.phase is Phase.FETCH
        and not state.revoking
        and state.fetch_from is not None
        and state.fetch_from.offset == row.offset
        and state.leader_epoch == row.leader_epoch
    )
