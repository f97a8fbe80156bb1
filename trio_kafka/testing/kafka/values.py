"""Values of a test: records, topics, groups and members, without classes of the protocol."""

from collections.abc import Mapping, Sequence

from attrs import field

from trio_kafka.attributes import frozen

Bytes = bytes | str | None  # a str is UTF-8


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
    """A record of a topic."""

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
    """A topic. offsets: first offset and end offset (exclusive) by partition."""

    name: str
    partitions: int
    offsets: Mapping[int, tuple[int, int]] = field(factory=dict)


@frozen(kw_only=True, order=True)
class Member:
    """A member of a group. partitions: assigned, as (topic, partition), sorted."""

    member_id: str
    client_id: str = ""
    instance_id: str | None = None
    partitions: tuple[tuple[str, int], ...] = ()


@frozen(kw_only=True)
class Group:
    """A group, with its members sorted by id.

    state: Kafka's name: Empty, Stable, Assigning, PreparingRebalance, ...; Dead: there is none.
    type: classic or consumer. offsets: committed, by topic and partition.
    lag: records behind the end of each partition with a committed offset; never below 0.
    """

    group_id: str
    state: str
    type: str = ""
    members: tuple[Member, ...] = ()
    offsets: Mapping[tuple[str, int], int] = field(factory=dict)
    lag: Mapping[tuple[str, int], int] = field(factory=dict)

    def matches(
        self, state: str | None = None, members: int | None = None, lag: int | None = None
    ) -> bool:
        """Return whether it has a state, a number of members, a total lag of at most `lag`.

        A group without committed offsets has no lag.
        """
        return (
            (state is None or self.state == state)
            and (members is None or len(self.members) == members)
            and (lag is None or (bool(self.lag) and sum(self.lag.values()) <= lag))
        )


def as_bytes(value: Bytes) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
