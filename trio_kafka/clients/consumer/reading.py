"""Records from buffered batches, in three ways: many at once, one by one, or whole batches.

Positions move as records are handed out, so that a commit never covers a record that the user has
not got. A record that cannot be deserialized stays at the position: the user may seek behind it.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final, Generic, TypeVar

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.fetched import FetchedData
from trio_kafka.clients.consumer.partition_state import PartitionState
from trio_kafka.clients.consumer.positions import Positions
from trio_kafka.clients.consumer.values import ConsumerRecord, Deserializer, Position, as_bytes
from trio_kafka.clients.errors import Place, SerializationError, client_error
from trio_kafka.clients.metrics.measures import Total
from trio_kafka.errors import KafkaError
from trio_kafka.records.batch import BatchHeader, Record

K = TypeVar("K")
V = TypeVar("V")
_NO_TIME: Final = -1


@define(eq=False)
class Cursor(Generic[K, V]):
    """Records of one partition that are handed out one by one.

    raw: of the same records, for those that must be given back.
    """

    state: PartitionState
    version: int
    data: FetchedData
    header: BatchHeader
    records: deque[ConsumerRecord[K, V]]
    raw: Sequence[Record]

    @property
    def is_valid(self) -> bool:
        state = self.state
        return bool(self.records) and state.version == self.version and state.is_fetchable


@define(eq=False, kw_only=True)
class RecordReader(Generic[K, V]):
    """Takes records out of the buffers of `positions`. most: records of one read.

    consumed: counts the records that were decoded.
    """

    positions: Positions
    key_deserializer: Deserializer[K]
    value_deserializer: Deserializer[V]
    most: int
    consumed: Total = field(factory=lambda: Total(1))
    _cursor: Cursor[K, V] | None = field(default=None, init=False)

    def read(self) -> list[ConsumerRecord[K, V]]:
        """Return the next records of all partitions, `most` at most; none if none is buffered.

        Raises ClientError for a corrupt batch, SerializationError.
        """
        self.flush()
        records: list[ConsumerRecord[K, V]] = []
        for state in list(self.positions.ready):
            if len(records) >= self.most:
                break
            try:
                self._read_data(state, records)
            except (KafkaError, SerializationError) as error:
                if records:
                    break  # the next read raises: the data keep their failure
                raise self._failure(state, error) from error
        return records

    def next(self) -> ConsumerRecord[K, V] | None:
        """Return the next record; None if none is buffered. Raises as `read`."""
        cursor = self._cursor
        if cursor is None or not cursor.is_valid:
            self.flush()
            cursor = self._cursor = self._open_cursor()
            if cursor is None:
                return None
        record = cursor.records.popleft()
        if cursor.records:
            self.positions.read(cursor.state, Position(record.offset + 1, record.leader_epoch))
        else:
            self.positions.read(cursor.state, cursor.data.read_to)
            self.positions.front(cursor.state)
            self._cursor = None
        return record

    def read_partition(self, state: PartitionState) -> list[ConsumerRecord[K, V]]:
        """Return the next records of one partition, `most` at most. Raises as `read`."""
        records: list[ConsumerRecord[K, V]] = []
        while len(records) < self.most and state in self.positions.ready:
            before = len(records)
            try:
                self._read_data(state, records)
            except (KafkaError, SerializationError) as error:
                if records:
                    break  # as in `read`
                raise self._failure(state, error) from error
            if len(records) == before:
                break
        return records

    def next_data(self) -> tuple[PartitionState, FetchedData] | None:
        """Return the next buffered data, not read to the end; None if there are none."""
        self.flush()
        for state in list(self.positions.ready):
            data = self.positions.take(state)
            if data is not None:
                return state, data
        return None

    def flush(self) -> None:
        """Give back what `next` has not handed out."""
        cursor, self._cursor = self._cursor, None
        if cursor is None or not cursor.records or cursor.state.version != cursor.version:
            return
        raw = cursor.raw[len(cursor.raw) - len(cursor.records) :]
        cursor.data.give_back(raw, cursor.header)

    # --- one partition

    def _read_data(self, state: PartitionState, records: list[ConsumerRecord[K, V]]) -> None:
        """Read from the first buffered data of a partition, up to its end."""
        data = self.positions.front(state)
        while data is not None and len(records) < self.most:
            raw, header = data.read(self.most - len(records))
            if header is None:
                self.positions.read(state, data.read_to)
                self._rotate(state)
                return
            try:
                records += self.decode(state, raw, header)
            except SerializationError:
                data.give_back(raw, header)
                self._read_up_to_failure(state, data, records)
                return
            self.positions.read(state, data.read_to)
        self.positions.front(state)

    def _read_up_to_failure(
        self, state: PartitionState, data: FetchedData, records: list[ConsumerRecord[K, V]]
    ) -> None:
        """Read one by one up to the record that cannot be deserialized. Raises for the first."""
        first = True
        while True:
            raw, header = data.read(1)
            if header is None:
                return
            try:
                records += self.decode(state, raw, header)
            except SerializationError:
                data.give_back(raw, header)
                if first:
                    raise
                return
            first = False
            self.positions.read(state, data.read_to)

    def _open_cursor(self) -> Cursor[K, V] | None:
        for state in list(self.positions.ready):
            data = self.positions.front(state)
            if data is None:
                continue
            try:
                raw, header = data.read(self.most)
                if header is None:
                    self.positions.read(state, data.read_to)
                    self._rotate(state)
                    continue
                raw, decoded = self._decode_some(state, data, raw, header)
            except (KafkaError, SerializationError) as error:
                raise self._failure(state, error) from error
            return Cursor(state, state.version, data, header, deque(decoded), raw)
        return None

    def _decode_some(
        self,
        state: PartitionState,
        data: FetchedData,
        raw: Sequence[Record],
        header: BatchHeader,
    ) -> tuple[Sequence[Record], list[ConsumerRecord[K, V]]]:
        """Return records and what they decode to; only the first, if not all can be decoded."""
        try:
            return raw, self.decode(state, raw, header)
        except SerializationError:
            data.give_back(raw, header)
            if len(raw) == 1:
                raise
        first, _ = data.read(1)
        return first, self._decode_some(state, data, first, header)[1]

    def _rotate(self, state: PartitionState) -> None:
        """Let other partitions come first; the exhausted data leave the buffer."""
        if self.positions.front(state) is not None:
            del self.positions.ready[state]
            self.positions.ready[state] = None

    def _failure(self, state: PartitionState, error: KafkaError | SerializationError) -> Exception:
        if isinstance(error, SerializationError):
            return error
        self.positions.drop(state)
        place = Place(topic=state.at.topic, partition=state.at.partition)
        return client_error(error.code, error.message, place=place)

    def decode(
        self, state: PartitionState, records: Sequence[Record], header: BatchHeader
    ) -> list[ConsumerRecord[K, V]]:
        """Return records with deserialized keys and values. Raises SerializationError."""
        topic, partition, epoch = state.at.topic, state.at.partition, header.leader_epoch
        key, value = self.key_deserializer, self.value_deserializer
        appended = header.max_timestamp if header.is_log_append_time else None
        raw = key is as_bytes and value is as_bytes
        decoded: list[ConsumerRecord[K, V]] = []
        for record in records:
            try:
                decoded.append(
                    ConsumerRecord(
                        topic,
                        partition,
                        record.offset,
                        record.timestamp if appended is None else appended,
                        record.key if raw else key(topic, record.key),  # type: ignore[arg-type]
                        record.value if raw else value(topic, record.value),  # type: ignore[arg-type]
                        record.headers,
                        epoch,
                    )
                )
            except Exception as error:
                place = Place(topic=topic, partition=partition)
                reason = f"the record at offset {record.offset} cannot be deserialized: {error!r}"
                raise SerializationError(reason, place=place) from error
        self.consumed.value += len(decoded)
        return decoded
