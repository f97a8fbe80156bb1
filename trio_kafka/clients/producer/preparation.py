"""Records as bytes, and checks of their sizes, before anything is queued. Does no I/O."""

from typing import Generic, NoReturn, TypeVar

from trio_kafka.attributes import frozen
from trio_kafka.clients.errors import Place, RecordTooLargeError, SerializationError
from trio_kafka.clients.producer.batch import OBJECT_BYTES
from trio_kafka.clients.producer.record import ProducerRecord, Serializer, record_bound
from trio_kafka.records.header import HEADER_SIZE

K = TypeVar("K")
V = TypeVar("V")


@frozen(kw_only=True)
class RecordPreparation(Generic[K, V]):
    """Serializers and limits. largest: `max.request.size`. memory: `buffer.memory`."""

    key_serializer: Serializer[K]
    value_serializer: Serializer[V]
    largest: int
    memory: int

    def prepare(self, record: ProducerRecord[K, V]) -> tuple[bytes | None, bytes | None, int]:
        """Return key, value and a bound of the encoded size of a record.

        Raises SerializationError, RecordTooLargeError.
        """
        try:
            key = None if record.key is None else self.key_serializer(record.key)
            value = None if record.value is None else self.value_serializer(record.value)
        except Exception as error:
            reason = f"the serializer has raised {type(error).__name__}: {error}"
            raise SerializationError(reason, place=_place(record)) from error
        if not (_is_bytes(key) and _is_bytes(value)):
            kinds = f"{type(key).__name__} and {type(value).__name__}"
            reason = f"key and value are serialized as {kinds}: want bytes or None"
            raise SerializationError(reason, place=_place(record))
        size = record_bound(key, value, record.headers)
        if size > self.most:
            self.reject(size, _place(record))
        return key, value, size

    @property
    def most(self) -> int:
        """The largest bound of a record's encoded size."""
        return min(self.largest - HEADER_SIZE, self.memory - OBJECT_BYTES)

    def reject(self, size: int, place: Place, *, record: str = "") -> NoReturn:
        """Raise RecordTooLargeError for a record above `most`. record: ends the text."""
        end = f"; {record}" if record else ""
        batch_size = size + HEADER_SIZE
        if batch_size > self.largest:
            reason = f"a batch of one record, about {batch_size} bytes: max.request.size allows"
            raise RecordTooLargeError(f"{reason} {self.largest}{end}", place=place)
        reason = f"a record that takes {size + OBJECT_BYTES} bytes: buffer.memory allows"
        raise RecordTooLargeError(f"{reason} {self.memory}{end}", place=place)


def _is_bytes(part: object) -> bool:
    return part is None or isinstance(part, bytes)


def _place(record: ProducerRecord[K, V]) -> Place:
    return Place(topic=record.topic, partition=record.partition)
