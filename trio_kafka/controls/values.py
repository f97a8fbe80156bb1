"""Values of a test: records, topics, groups and members, without classes of the protocol."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.controls.keywords import suggesting_fields

_LONGEST: Final = 40  # bytes of a key or value that are shown
Bytes = bytes | str | None  # a str is UTF-8


@suggesting_fields
@frozen(kw_only=True)
class Record:
    """A record to produce. partition: None: that of the key; without a key, in turn.

    timestamp_ms: None: the broker's time.
    """

    value: Bytes = None
    key: Bytes = None
    headers: Sequence[tuple[str, bytes | None]] = ()
    partition: int | None = None
    timestamp_ms: int | None = None


@frozen(kw_only=True)
class StoredRecord:
    """A record of a topic, as consumers read it.

    offset: in its partition. timestamp_ms: since 1970, of the record or of its append.
    key, value: None: there is none; a value of None is a tombstone. headers: name and value, in
        order.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()

    @property
    def text(self) -> str:
        """The value as UTF-8. Raises UnicodeDecodeError."""
        return (self.value or b"").decode()


@frozen(kw_only=True)
class Topic:
    """A topic. partitions: their number.

    offsets: by partition the first offset, and the end offset, which the next record gets.
    """

    name: str
    partitions: int
    offsets: Mapping[int, tuple[int, int]] = field(factory=dict)


@frozen(kw_only=True, order=True)
class Member:
    """A member of a group. partitions: assigned, as (topic, partition), sorted.

    client_id: setting of its client. instance_id: of a static member (`group.instance.id`).
    """

    member_id: str
    client_id: str = ""
    instance_id: str | None = None
    partitions: tuple[tuple[str, int], ...] = ()


@frozen(kw_only=True)
class Group:
    """A group, with its members sorted by id.

    state: Kafka's name: Empty, Stable, Assigning, PreparingRebalance, ...; Dead: there is none.
    type: classic or consumer. offsets: committed, by (topic, partition).
    lag: records behind the end, by (topic, partition), where there is a committed offset; never
        below 0.
    """

    group_id: str
    state: str
    type: str = ""
    members: tuple[Member, ...] = ()
    offsets: Mapping[tuple[str, int], int] = field(factory=dict)
    lag: Mapping[tuple[str, int], int] = field(factory=dict)

    @property
    def total_lag(self) -> int:
        """Lag of all partitions with a committed offset; 0 without any, see `lag`."""
        return sum(self.lag.values())

    def matches(
        self, state: str | None = None, members: int | None = None, lag: int | None = None
    ) -> bool:
        """Return whether it has a state, a number of members, a total lag of at most `lag`.

        A group without committed offsets has no lag.
        """
        return (
            (state is None or self.state == state)
            and (members is None or len(self.members) == members)
            and (lag is None or (bool(self.lag) and self.total_lag <= lag))
        )


@frozen(kw_only=True)
class Transaction:
    """State of a transactional id, and of its transaction if one is open.

    state: Kafka's name: Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort;
        Dead: there is none.
    producer_id, producer_epoch: of the producer that may write, -1 if there is none.
    partitions: those of the open transaction, as (topic, partition), sorted; groups whose offsets
        it commits are partitions of `__consumer_offsets`.
    age_s: seconds since its first partition, by the broker's clock; None: no transaction is open.
    timeout_s: age after which the broker aborts it.
    """

    transactional_id: str
    state: str
    producer_id: int = -1
    producer_epoch: int = -1
    partitions: tuple[tuple[str, int], ...] = ()
    age_s: float | None = None
    timeout_s: float = 0.0


def shown(records: Sequence[StoredRecord], most: int = 10) -> Iterator[str]:
    """Yield a line for each record, up to `most`, with its place, key and value."""
    for record in records[:most]:
        place = f"{record.topic}-{record.partition} at {record.offset}"
        yield f"  {place}: key {_short(record.key)}, value {_short(record.value)}"
    if len(records) > most:
        yield f"  and {len(records) - most} more"


def _short(value: bytes | None) -> str:
    return repr(value) if value is None or len(value) <= _LONGEST else f"{value[:_LONGEST]!r}..."


def as_bytes(value: Bytes) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
