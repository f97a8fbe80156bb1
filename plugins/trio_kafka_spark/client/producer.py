"""An idempotent producer over blocking sockets: acks=all, batches of many partitions in a request.

One thread does it all. `send` encodes and sends what is ready, and takes the answers that are
there; it waits only while more than `buffer.memory` bytes are on their way. A lost connection, or
an error that a retry may mend, sends the batches again, in order and without doubling them (see
produce_queue). Between two calls nothing is sent or received, so that time counts against no batch
that waits to be sent, and answers that have arrived are taken before any batch expires.
A producer with `begin` writes everything in one transaction; any process may end it.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Final, Self

import pyarrow as pa

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, ProtocolError
from trio_kafka.model import Endpoint, TopicPartition
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k22_init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from trio_kafka.records.compression import Codec
from trio_kafka_spark.client.cluster import Cluster
from trio_kafka_spark.client.connection import BrokerConnectionError, Connection
from trio_kafka_spark.client.coordinator import Coordinator, Transaction
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.client.produce_batches import TOO_LARGE, Collected, Encoding
from trio_kafka_spark.client.produce_queue import Batch, Queues
from trio_kafka_spark.client.retry import Attempts, is_retriable, named, rejected
from trio_kafka_spark.client.settings import ClientSettings

NOT_WRITTEN: Final = "KAFKA_WRITE_TIMED_OUT"
ACKS_ALL: Final = -1
_BY_NAME: Final = 12  # the last version of Produce that names topics
_ADDED: Final = 11  # the last one of the protocol that adds partitions to transactions beforehand
_NO_TIMEOUT_MS: Final = (1 << 31) - 1
_TOO_LARGE: Final = (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.RECORD_LIST_TOO_LARGE)
_OVERHEAD: Final = 1024  # bytes of a request around its batches, about


@frozen
class _ProduceInFlight:
    """A Produce request in flight."""

    connection: Connection
    batches: list[Batch]


class Producer:
    """Writes Arrow records to partitions, each once. A context manager, which closes sockets.

    The first failure that no retry mends is raised as SourceError by `send` or `flush`; the
    producer is of no use then. What was sent before may have been written, or not.
    """

    def __init__(
        self,
        settings: ClientSettings,
        *,
        begin: Callable[[Coordinator], Transaction] | None = None,
        sleep: Callable[[float], object] = time.sleep,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """begin: begins the transaction, with the first record; None: no transaction.

        now: seconds, of all deadlines of batches and their retries.
        """
        self._settings = settings
        self._sleep = sleep
        self._now = now
        self._returned_s = now()  # end of the last call that sent and received
        self._metadata = Cluster(settings)  # a connection with Produce in flight answers no other
        self._leaders = Cluster(settings)
        self._encoding: Encoding | None = None
        self._collected: dict[TopicPartition, Collected] = {}
        self._queues = Queues(settings.writing.in_flight)
        self._in_flight: deque[_ProduceInFlight] = deque()  # of all leaders, the oldest first
        self._trouble = "no answer came"
        self._begin = begin
        self._coordinator = Coordinator(self._metadata)
        self._added: set[TopicPartition] = set()
        self.transaction: Transaction | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all sockets, whatever is in flight. Idempotent."""
        self._in_flight.clear()
        self._leaders.close()
        self._metadata.close()

    def partitions(self, topic: str, *, again: bool = False) -> list[int]:
        """Return the partitions of a topic; one that is missing is created, if the broker does so.

        again: ask the broker, even if the answer is known.
        """
        if again:
            self._metadata.forget(topic)
        return self._metadata.topics([topic], create=True)[topic]

    def send(self, where: TopicPartition, records: pa.RecordBatch) -> None:
        """Write records, in their order, after those sent before to the same partition.

        records: columns value, and key, headers and timestamp if there are any. They are sent when
        they fill a batch; wait for them with `flush`.
        """
        self._known_encoding().check(where, records)
        collected = self._collected.get(where)
        if collected is None:
            collected = self._collected[where] = Collected()
        if not collected.fits(records):
            self._encode(where, collected)
        collected.add(records)
        if collected.size >= self._settings.writing.batch_bytes:
            self._encode(where, collected)
            self._pump(lambda: self._queues.held_bytes <= self._settings.writing.buffer_bytes)

    def flush(self) -> dict[TopicPartition, int]:
        """Wait until all records are written; return the last offset of each partition."""
        for where, collected in self._collected.items():
            if collected.parts:
                self._encode(where, collected)
        self._pump(lambda: self._queues.is_empty)
        return self._queues.last_offsets()

    def _known_encoding(self) -> Encoding:
        if self._encoding is None:
            writing = self._settings.writing
            if self._begin is None:
                producer_id, epoch = self._init_producer_id()
            else:
                self.transaction = self._begin(self._coordinator)
                producer_id, epoch = self.transaction.producer_id, self.transaction.epoch
            self._encoding = Encoding(
                codec=Codec[writing.compression.upper()],
                level=writing.compression_level,
                batch_bytes=writing.batch_bytes,
                largest_request=writing.largest_request,
                producer_id=producer_id,
                producer_epoch=epoch,
                transactional=self.transaction is not None,
            )
        return self._encoding

    def _init_producer_id(self) -> tuple[int, int]:
        attempts = Attempts(
            settings=self._settings,
            request="InitProducerId",
            timeout_ms=self._settings.writing.max_block_ms,
            sleep=self._sleep,
        )
        while True:
            request = InitProducerIdRequest(None, _NO_TIMEOUT_MS)
            answer: InitProducerIdResponse = self._metadata.ask_any(request)
            if not answer.error_code:
                return answer.producer_id, answer.producer_epoch
            if not is_retriable(answer.error_code):
                raise rejected("InitProducerId", answer.error_code)
            attempts.failed(named(answer.error_code))

    def _encode(self, where: TopicPartition, collected: Collected) -> None:
        queue = self._queues[where]
        now_ms = int(time.time() * 1000)
        expires_s = self._now() + self._settings.writing.delivery_timeout_ms / 1000
        encoding = self._known_encoding()
        for encoded in encoding.encoded(collected.take(), queue.next_sequence, now_ms):
            queue.add(encoded.data, encoded.count, expires_s)

    def _pump(self, is_done: Callable[[], bool]) -> None:
        """Send what can be sent and take answers, until it is done; wait no longer than needed."""
        self._receive_ready()  # before each check: a batch that its leader has appended is not late
        now = self._now()
        longest_s = self._settings.writing.delivery_timeout_ms / 1000
        self._queues.extend_waiting(now - self._returned_s, until_s=now + longest_s)
        while True:
            self._check_expired()
            self._send_ready()
            if is_done():
                self._returned_s = self._now()
                return
            if self._in_flight:
                self._receive(self._in_flight[0], self._left_ms(self._in_flight[0]))
            else:
                now = self._now()
                self._sleep(max(0.0, self._queues.next_retry_s(now) - now))
            self._receive_ready()

    def _receive_ready(self) -> None:
        """Take the answers that have arrived, from all leaders."""
        silent: list[Connection] = []
        for request in tuple(self._in_flight):
            connection = request.connection
            if connection in silent or request not in self._in_flight:
                continue  # no answer yet, or the connection was lost
            if connection.is_ready():
                self._receive(request, self._settings.request_timeout_ms)
            else:
                silent.append(connection)

    def _check_expired(self) -> None:
        late = self._queues.expired(self._now())
        if late is not None:
            raise SourceError(
                NOT_WRITTEN,
                f"{late.count} records for {late.where} were not written in"
                f" {self._settings.writing.delivery_timeout_ms / 1000:g} s"
                f" (kafka.delivery.timeout.ms), in {late.attempts} attempts;"
                f" the last failure: {self._trouble}",
            )

    def _send_ready(self) -> None:
        now = self._now()
        if self.transaction is not None:
            self._add_partitions(self.transaction, now)
        by_leader: dict[Endpoint, list[TopicPartition]] = {}
        for queue in self._queues:
            if queue.may_send(now):
                leader = self._metadata.leader_of(queue.where).endpoint
                by_leader.setdefault(leader, []).append(queue.where)
        for leader, wheres in by_leader.items():
            try:
                connection = self._leaders.connection(leader)
            except BrokerConnectionError as error:
                self._trouble = str(error)
                for where in wheres:
                    self._metadata.forget(where.topic)
                    self._queues[where].delay(now + self._pause_s(1))
                continue
            self._send_to(connection, wheres, now)

    def _add_partitions(self, transaction: Transaction, now: float) -> None:
        """Add the partitions to the transaction that are about to have their first batch."""
        new = [queue.where for queue in self._queues if queue.may_send(now)]
        new = [where for where in new if where not in self._added]
        if new:
            self._coordinator.add(transaction, new)
            self._added.update(new)

    def _send_to(self, connection: Connection, wheres: list[TopicPartition], now: float) -> None:
        writing = self._settings.writing
        largest = max(1, writing.largest_request - _OVERHEAD)
        while connection.waiting < writing.in_flight:
            batches = self._queues.request(wheres, now, largest)
            if not batches:
                return
            self._in_flight.append(_ProduceInFlight(connection, batches))
            timeout_ms = self._settings.request_timeout_ms
            transaction = self.transaction
            request = ProduceRequest(
                None if transaction is None else transaction.transactional_id,
                ACKS_ALL,
                timeout_ms,
                _topic_data(batches),
            )
            try:
                connection.send(request, at_most=_BY_NAME if transaction is None else _ADDED)
            except BrokerConnectionError as error:
                self._lost(connection, error)
                return

    def _left_ms(self, request: _ProduceInFlight) -> int:
        """Return how long to wait for an answer that has not begun to arrive."""
        first = min((batch.expires_s for batch in request.batches), default=0.0)
        left_ms = int(max(0.0, first - self._now()) * 1000) + 1
        return min(left_ms, self._settings.request_timeout_ms)

    def _receive(self, request: _ProduceInFlight, timeout_ms: int) -> None:
        """Take the answer to the oldest request of a connection."""
        try:
            answer = request.connection.receive(timeout_ms)
            rows = _rows(answer, request.batches)
        except (BrokerConnectionError, ProtocolError) as error:
            self._lost(request.connection, error)
            return
        self._in_flight.remove(request)
        for batch, row in rows:
            self._answered(batch, row)

    def _answered(self, batch: Batch, row: PartitionProduceResponse) -> None:
        queue = self._queues[batch.where]
        try:
            code = ErrorCode(row.error_code)
        except ValueError:
            code = ErrorCode.UNKNOWN_SERVER_ERROR
        retry_at_s = self._now() + self._pause_s(batch.attempts)
        if queue.answer(batch, code, offset=row.base_offset, retry_at_s=retry_at_s):
            if code.refreshes_metadata:
                self._metadata.forget(batch.where.topic)
            if code is not ErrorCode.NONE:
                self._trouble = _reason_of(row)
        elif code in _TOO_LARGE and batch.count > 1:
            halves = self._known_encoding().halves(
                batch.where, batch.data, batch.count, sequence=batch.sequence
            )
            queue.split(batch, ((half.data, half.count) for half in halves))
        elif code in _TOO_LARGE:
            raise SourceError(
                TOO_LARGE,
                f"RecordTooLarge: {batch.where} rejected a record of {len(batch.data)} bytes"
                f" ({_reason_of(row)}); write smaller records, or raise the topic's"
                " max.message.bytes",
            )
        else:
            request = f"Produce of {batch.count} records to {batch.where} ({_reason_of(row)})"
            raise rejected(request, row.error_code)

    def _lost(self, connection: Connection, error: Exception) -> None:
        """Send again what was in flight on a connection that broke."""
        self._trouble = str(error)
        self._leaders.drop(connection)
        lost = [request for request in self._in_flight if request.connection is connection]
        self._in_flight = deque(
            request for request in self._in_flight if request.connection is not connection
        )
        now = self._now()
        for request in lost:
            for batch in request.batches:
                self._metadata.forget(batch.where.topic)
                self._queues[batch.where].again(batch, now + self._pause_s(batch.attempts))

    def _pause_s(self, attempts: int) -> float:
        pause = self._settings.retry_backoff_ms * (1 << min(max(attempts - 1, 0), 20))
        return min(pause, self._settings.retry_backoff_max_ms) / 1000


def _topic_data(batches: Iterable[Batch]) -> list[TopicProduceData]:
    topics: dict[str, TopicProduceData] = {}
    for batch in batches:
        name = batch.where.topic
        if name not in topics:
            topics[name] = TopicProduceData(name=name, topic_id=bytes(16), partition_data=[])
        data = PartitionProduceData(batch.where.partition, memoryview(batch.data))
        topics[name].partition_data.append(data)
    return list(topics.values())


def _rows(
    answer: ProduceResponse, batches: list[Batch]
) -> list[tuple[Batch, PartitionProduceResponse]]:
    """Return each batch with its row of the answer. Raises ProtocolError if one is missing."""
    rows = {
        TopicPartition(topic.name, row.index): row
        for topic in answer.responses
        for row in topic.partition_responses
    }
    missing = [str(batch.where) for batch in batches if batch.where not in rows]
    if missing:
        raise ProtocolError(f"an answer to Produce says nothing of {', '.join(missing)}")
    return [(batch, rows[batch.where]) for batch in batches]


def _reason_of(row: PartitionProduceResponse) -> str:
    """Return why the broker did not append a batch, in its words."""
    messages = [row.error_message or named(row.error_code)]
    messages += [error.batch_index_error_message or "" for error in row.record_errors[:1]]
    return ": ".join(filter(None, messages))
