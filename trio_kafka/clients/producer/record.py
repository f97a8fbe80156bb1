"""Records as users write them, and what they learn of a stored one."""

from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeAlias, TypeVar

from trio_kafka.attributes import define, frozen

K = TypeVar("K")
V = TypeVar("V")
T_contra = TypeVar("T_contra", contravariant=True)
Headers: TypeAlias = Sequence[tuple[str, bytes | None]]
Serializer: TypeAlias = Callable[[T_contra], bytes | None]
NO_OFFSET: Final = -1


@define(unsafe_hash=True)
class ProducerRecord(Generic[K, V]):
    """A record to send. Not `frozen`: its constructor would take 5 % of a `send`.

    partition: None: the partitioner chooses one.
    timestamp_ms: None: the time of the call of `send`. headers: names and values, in order.
    """

    topic: str
    value: V
    key: K | None = None
    partition: int | None = None
    timestamp_ms: int | None = None
    headers: Headers = ()


@frozen(kw_only=True)
class RecordMetadata:
    """Place of a stored record.

    offset: -1 if it is not known: with acks=0, and for a batch that the broker had already.
    timestamp_ms: of the record, or of the broker if the topic has LogAppendTime.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


def as_bytes(value: object) -> bytes | None:
    """Return bytes as they are: the default serializer. Raises TypeError for anything else."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)  # the record is encoded later: a buffer may change until then
    raise TypeError(f"a {type(value).__name__}: want bytes, or pass a serializer")


def record_bound(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    """Return a bound of a record's encoded size, at most some bytes above it.

    Holds for records whose time is less than 17 minutes from the first of their batch.
    """
    size = (0 if key is None else len(key)) + (0 if value is None else len(value))
    for name, content in headers:
        size += 4 * len(name) + (0 if content is None else len(content)) + 10
    return size + (_SMALL if size < _SMALL_BELOW else _LARGE)


def record_bounds(
    values: Sequence[bytes | None], keys: Sequence[bytes | None] | None = None
) -> list[int]:
    """Return what `record_bound` returns for each of many records without headers."""
    sizes = _sizes(values)
    if keys is not None:
        sizes = list(map(int.__add__, sizes, _sizes(keys)))
    if max(sizes, default=0) < _SMALL_BELOW:
        return list(map(_SMALL.__add__, sizes))
    return [size + (_SMALL if size < _SMALL_BELOW else _LARGE) for size in sizes]


def _sizes(parts: Sequence[bytes | None]) -> list[int]:
    try:
        return list(map(len, parts))  # type: ignore[arg-type]  # a null raises TypeError
    except TypeError:
        return [0 if part is None else len(part) for part in parts]


# Varints of sizes, deltas of time and offset, the number of headers; see the bound's promise.
_SMALL: Final = 14
_SMALL_BELOW: Final = 8000
_LARGE: Final = 24
