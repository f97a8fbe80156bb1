"""Facts of topics."""

from trio_kafka.attributes import frozen


@frozen(kw_only=True)
class TopicFacts:
    """One topic, with what this broker has of it.

    led_here: partitions that this broker leads. troubled: partitions without a leader, offline
    here, or with fewer replicas in sync than replicas. bytes, records: of the partitions led here;
    records are offsets from the start of the log to its end. bytes_in, records_in, bytes_out:
    clients' traffic on this broker since its start. groups: those that this broker coordinates and
    that have committed offsets for it.
    """

    name: str
    topic_id: str
    internal: bool
    partitions: int
    led_here: int
    troubled: int
    bytes: int
    records: int
    bytes_in: int
    records_in: int
    bytes_out: int
    groups: tuple[str, ...]


@frozen(kw_only=True)
class TopicPartitionFacts:
    """One partition of a topic.

    leader: -1: there is none. role: of the replica on this broker: "leading", "following",
    "offline", or "elsewhere" if it has none. error: why it is offline. start, end, high_watermark,
    bytes, segments, log_epoch: of the log on this broker; None without one. log_epoch: leader epoch
    of the last batch, -1: none.
    """

    partition: int
    leader: int
    leader_epoch: int
    partition_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    role: str
    error: str
    start: int | None
    high_watermark: int | None
    end: int | None
    bytes: int | None
    segments: int | None
    log_epoch: int | None


@frozen(kw_only=True)
class ProducerFacts:
    """Idempotent or transactional producer in one partition.

    last_sequence: -1: none yet. last_ms: wall clock of its last batch, ago_s: since then.
    transaction_start: first offset of its open transaction; None: none is open.
    """

    partition: int
    producer_id: int
    epoch: int
    last_sequence: int
    last_ms: int
    ago_s: float
    transaction_start: int | None


@frozen(kw_only=True)
class SettingFacts:
    """Effective setting of a topic. value: None for a secret. source: "topic", "broker, dynamic",
    "all brokers, dynamic", "broker file" or "default".
    """

    name: str
    value: str | None
    source: str


@frozen(kw_only=True)
class TopicReader:
    """Group that has committed offsets for a topic. lag: in the partitions that this broker leads.
    state: of the group.
    """

    group_id: str
    state: str
    members: int
    partitions: int
    lag: int


@frozen(kw_only=True)
class TopicDetails:
    """One topic in full.

    producers, settings: None: the reader may not see them. producers_total: more than are listed.
    """

    facts: TopicFacts
    partitions: tuple[TopicPartitionFacts, ...]
    producers: tuple[ProducerFacts, ...] | None
    producers_total: int
    settings: tuple[SettingFacts, ...] | None
    readers: tuple[TopicReader, ...]
