"""Record batches of one partition, from an offset to another, with the next Fetch in flight.

The request that follows is sent before its predecessor's batches are given to the caller, so the
broker and the network work while the caller decodes. Batches are views of the answers, undecoded.
Fetch is used without sessions: by topic id from version 13 on where the topic has one, by name
before. Sizes: a small first answer starts the pipeline and tells how large records are; later ones
ask for no more than is left. Source: Fetch of Kafka's protocol; KIP-74 (one batch at least is
returned), KIP-320 (leader epochs), KIP-516 (topic ids).
"""

import time
from collections.abc import Iterator
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import ZERO_TOPIC_ID, TopicPartition
from trio_kafka.protocol.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from trio_kafka.records.header import iterate_headers
from trio_kafka_spark.client.cluster import EARLIEST, LATEST, UNKNOWN_TOPIC_ATTEMPTS, Cluster
from trio_kafka_spark.client.connection import BrokerConnectionError, Connection
from trio_kafka_spark.client.errors import (
    CORRUPT,
    TIMED_OUT,
    UNSUPPORTED,
    OffsetOutOfRangeError,
    SourceError,
    UnknownTopicError,
)
from trio_kafka_spark.client.metadata import PartitionLeader
from trio_kafka_spark.client.retry import Attempts, is_retriable, named, rejected
from trio_kafka_spark.client.settings import ClientSettings

_BY_NAME: Final = 12  # the last version of Fetch that names topics
_FIRST_BYTES: Final = 1 << 20
_SPARE_BYTES: Final = 64 << 10
_CORRUPT_ATTEMPTS: Final = 3
_EARLIEST_LOCAL: Final = -4  # KIP-405: offsets below may be in remote storage
_UNKNOWN: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)


@frozen(kw_only=True)
class Fetched:
    """Whole record batches that follow one another.

    buffer: their bytes; the first may begin before the offset that was asked for. next_offset:
    where the next Fetched begins. aborted: (producer id, first offset) of aborted transactions,
    where `isolation.level` is read_committed. high_watermark, log_start: of the partition then.
    """

    buffer: memoryview
    next_offset: int
    aborted: tuple[tuple[int, int], ...]
    high_watermark: int
    log_start: int


def fetch(
    settings: ClientSettings,
    tp: TopicPartition,
    *,
    start: int,
    stop: int,
    epoch: int | None = None,
    cluster: Cluster | None = None,
) -> Iterator[Fetched]:
    """Batches with the records from `start` to before `stop`; the last ones may go beyond.

    Ends when `stop` is reached by offset, whatever gaps compaction and transactions have left. An
    item whose buffer is empty says that there is nothing up to its next_offset. Survives lost
    connections and new leaders, until `default.api.timeout.ms` passes without progress.
    epoch: the leader epoch that the caller knows, at least. cluster: one to be used, and left
    open; None: one of its own. Raises OffsetOutOfRangeError, UnknownTopicError, SourceError; after
    `poll_timeout_ms` without records that should be there, SourceError KAFKA_READ_TIMED_OUT.
    """
    if start >= stop:
        return
    own = cluster or Cluster(settings)
    reader = _Reader(cluster=own, tp=tp, position=start, stop=stop, epoch=epoch)
    try:
        yield from reader.run()
    finally:
        reader.hang_up()
        if cluster is None:
            own.close()


@define(kw_only=True)
class _Reader:
    """One read: the position of the next request, and the connection that it is in flight on."""

    cluster: Cluster
    tp: TopicPartition
    position: int
    stop: int
    epoch: int | None
    _first: int = field(init=False)
    _attempts: Attempts = field(init=False)
    _connection: Connection | None = field(default=None, init=False)
    _leader: PartitionLeader | None = field(default=None, init=False)
    _topic_id: bytes = field(default=ZERO_TOPIC_ID, init=False)
    _unknown: int = field(default=0, init=False)
    _corrupt: int = field(default=0, init=False)
    _empty: int = field(default=0, init=False)
    _bytes: int = field(default=0, init=False)
    _throttled: bool = field(default=False, init=False)
    _waiting_since: float = field(init=False)

    def __attrs_post_init__(self) -> None:
        settings = self.cluster.settings
        self._first = self.position
        self._attempts = Attempts(
            settings=settings, request=f"Fetch of {self.tp}", timeout_ms=settings.api_timeout_ms
        )
        self._waiting_since = time.monotonic()

    def run(self) -> Iterator[Fetched]:
        while self.position < self.stop:
            try:
                if self._connection is None:
                    self._send()
                data = self._receive()
            except BrokerConnectionError as error:
                self._lost(error)
                continue
            if data is None:
                continue
            if data.error_code:
                self._answered_error(data)
                continue
            fetched = self._fetched(data)
            if fetched is None:
                continue
            self._progress(fetched)
            if self.position < self.stop:
                self._send_ahead()
            else:
                self._connection = None
            yield fetched
            self._begin_wait()  # nothing is retried while the caller works

    def hang_up(self) -> None:
        """Close the connection if an answer is in flight that is not wanted any more."""
        connection, self._connection = self._connection, None
        if connection is not None and connection.waiting:
            self.cluster.drop(connection)

    def _send(self) -> None:
        leader = self.cluster.leader_of(self.tp)
        if self._topic_id not in (ZERO_TOPIC_ID, leader.topic_id):
            raise UnknownTopicError(
                self.tp.topic,
                f"topic {self.tp.topic} was deleted and created again while {self.tp} was read;"
                " offsets of the old topic mean nothing in the new one",
            )
        self._topic_id, self._leader = leader.topic_id, leader
        connection = self.cluster.leader(self.tp, idle=True)
        self._connection = connection
        by_name = leader.topic_id == ZERO_TOPIC_ID
        connection.send(self._request(leader), at_most=_BY_NAME if by_name else None)

    def _send_ahead(self) -> None:
        """Send the next request while the caller works; a failure is dealt with after that."""
        connection = self._connection
        if connection is None or connection.expired or connection.throttled:
            self._connection = None  # sent when the caller comes back
            return
        try:
            self._send()
        except BrokerConnectionError:
            self.cluster.drop(connection)
            self._connection = None

    def _request(self, leader: PartitionLeader) -> FetchRequest:
        settings = self.cluster.settings
        size = self._size(settings)
        epoch = max(leader.epoch, -1 if self.epoch is None else self.epoch)
        return FetchRequest(
            max_wait_ms=min(settings.fetch_max_wait_ms, settings.request_timeout_ms // 2),
            min_bytes=settings.fetch_min_bytes,
            max_bytes=size,
            isolation_level=int(settings.read_committed),
            topics=[
                FetchTopic(
                    self.tp.topic,
                    leader.topic_id,
                    [
                        FetchPartition(
                            self.tp.partition,
                            epoch,
                            self.position,
                            partition_max_bytes=size,
                        )
                    ],
                )
            ],
        )

    def _size(self, settings: ClientSettings) -> int:
        """Bytes to ask for: what seems to be left, by the sizes seen so far."""
        limit = min(settings.fetch_bytes, settings.fetch_max_bytes)
        seen = self.position - self._first
        if not seen:
            return min(limit, _FIRST_BYTES)
        remaining = (self.stop - self.position) * self._bytes // seen
        return min(limit, remaining + remaining // 8 + _SPARE_BYTES)

    def _receive(self) -> PartitionData | None:
        """The partition's part of the answer; None if there is none, as while it is throttled."""
        connection = self._connection
        assert connection is not None  # noqa: S101 - for the type: run() has sent a request
        answer: FetchResponse = connection.receive()
        self._throttled = answer.throttle_time_ms > 0
        if answer.error_code:
            self._retry(answer.error_code, connection)
            return None
        for topic in answer.responses:
            for data in topic.partitions:
                if data.partition_index == self.tp.partition:
                    return data
        if not self._throttled:
            self._retry(ErrorCode.UNKNOWN_SERVER_ERROR, connection)
        self._connection = None
        self._check_patience("the broker throttles this client")
        self._attempts.succeeded()
        return None

    def _lost(self, error: BrokerConnectionError) -> None:
        if self._connection is not None:
            self.cluster.drop(self._connection)
            self._connection = None
        self.cluster.forget(self.tp.topic)
        self._attempts.failed(error)

    def _answered_error(self, data: PartitionData) -> None:
        connection, self._connection = self._connection, None
        code = data.error_code
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range()
        if code in _UNKNOWN:
            self._unknown += 1
            if self._unknown == UNKNOWN_TOPIC_ATTEMPTS:
                raise UnknownTopicError(
                    self.tp.topic,
                    f"{self.tp} does not exist any more ({named(code)}): the topic was deleted"
                    " while it was read",
                )
        if code == ErrorCode.CORRUPT_MESSAGE:
            self._corrupt += 1
            if self._corrupt == _CORRUPT_ATTEMPTS:
                raise rejected(self._named(connection), code)
        self._retry(code, connection)

    def _retry(self, code: int, connection: Connection | None) -> None:
        self._connection = None
        if not is_retriable(code) and code not in (
            ErrorCode.UNKNOWN_SERVER_ERROR,
            ErrorCode.OFFSET_OUT_OF_RANGE,
        ):
            raise rejected(self._named(connection), code)
        self.cluster.forget(self.tp.topic)
        self._attempts.failed(f"{named(code)} from {connection}")

    def _named(self, connection: Connection | None) -> str:
        """Return the request and its broker, for an error message."""
        where = f" at broker {connection.endpoint}" if connection is not None else ""
        return f"Fetch of {self.tp}, offset {self.position}{where}"

    def _out_of_range(self) -> None:
        """Raise OffsetOutOfRangeError, unless the range has the offset: a new leader lags."""
        first = self.cluster.offsets({self.tp: EARLIEST})[self.tp]
        last = self.cluster.offsets({self.tp: LATEST})[self.tp]
        if not first <= self.position <= last:
            raise OffsetOutOfRangeError(self.tp, self.position, first, last)

    def _fetched(self, data: PartitionData) -> Fetched | None:
        """The batches of an answer; None: there are none, and the read continues."""
        records = data.records
        buffer = records if isinstance(records, memoryview) else memoryview(b"")
        end, next_offset = self._walk(buffer)
        if not end and next_offset < self.stop:
            if buffer.nbytes:
                raise SourceError(
                    CORRUPT,
                    f"Fetch of {self.tp}, offset {self.position}: {buffer.nbytes} bytes hold no"
                    " whole record batch",
                )
            if not self._is_gap(data):
                return None
            next_offset = self.stop
        aborted = data.aborted_transactions or ()
        return Fetched(
            buffer=buffer[:end],
            next_offset=next_offset,
            aborted=tuple(
                (transaction.producer_id, transaction.first_offset) for transaction in aborted
            ),
            high_watermark=data.high_watermark,
            log_start=data.log_start_offset,
        )

    def _walk(self, buffer: memoryview) -> tuple[int, int]:
        """Bytes of the whole batches up to `stop`, and the offset behind them."""
        end, offset = 0, self.position
        try:
            for at, header in iterate_headers(buffer):
                if header.base_offset >= self.stop:
                    offset = max(offset, self.stop)
                    break
                if header.next_offset <= offset or header.last_offset_delta < 0:
                    raise SourceError(
                        CORRUPT,
                        f"Fetch of {self.tp}: the batch at byte {at} ends with offset"
                        f" {header.last_offset}, want at least {offset}",
                    )
                end, offset = at + header.size, header.next_offset
        except KafkaError as error:
            condition = CORRUPT if error.code is ErrorCode.CORRUPT_MESSAGE else UNSUPPORTED
            raise SourceError(
                condition, f"Fetch of {self.tp}, offset {offset}: {error.message}"
            ) from error
        return end, offset

    def _is_gap(self, data: PartitionData) -> bool:
        """No records are left between position and stop, though the log continues: a compacted end.

        Waits for records otherwise, until the patience ends. Two answers in a row must be empty,
        and a throttled one does not count: a broker answers nothing then, whatever it has.
        """
        self._connection = None
        committed = self.cluster.settings.read_committed
        end = data.last_stable_offset if committed else data.high_watermark
        if end >= self.stop and not self._throttled:
            self._empty += 1
            if self._empty > 1 and self._is_local():
                return True
        self._check_patience(self._why_empty(data.high_watermark, end))
        self._attempts.succeeded()
        return False

    def _why_empty(self, high_watermark: int, end: int) -> str:
        if self._throttled:
            return "the broker throttles this client"
        if high_watermark > end:
            return f"an open transaction keeps records from offset {end} on back"
        return f"the log ends with offset {high_watermark}"

    def _is_local(self) -> bool:
        """The position is in the leader's own log: an empty answer there means no records."""
        try:
            return self.cluster.offsets({self.tp: _EARLIEST_LOCAL})[self.tp] <= self.position
        except SourceError as error:
            if error.condition != UNSUPPORTED:
                raise
            return True  # a broker that does not know the question has no remote storage

    def _check_patience(self, reason: str) -> None:
        timeout_ms = self.cluster.settings.poll_timeout_ms
        if (time.monotonic() - self._waiting_since) * 1000 > timeout_ms:
            raise SourceError(
                TIMED_OUT,
                f"no record of {self.tp} came for offset {self.position} in {timeout_ms} ms, want"
                f" all before offset {self.stop}: {reason}; raise kafkaConsumer.pollTimeoutMs, or"
                " end the read earlier",
            )

    def _progress(self, fetched: Fetched) -> None:
        self._bytes += fetched.buffer.nbytes
        self.position = fetched.next_offset
        self._unknown = self._corrupt = self._empty = 0
        self._begin_wait()

    def _begin_wait(self) -> None:
        """Count retries, their deadline and the patience from now on."""
        self._attempts.succeeded()
        self._waiting_since = time.monotonic()
