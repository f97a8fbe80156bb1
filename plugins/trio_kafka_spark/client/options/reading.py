"""Options of a consumer."""

from collections.abc import Iterator

from trio_kafka_spark.client.options.option import KafkaOption, Side, honoured, ignored, refused
from trio_kafka_spark.client.values import choice, flag, integer


def reading_options() -> Iterator[KafkaOption]:
    yield from honoured(
        "isolation.level",
        "read_committed",
        _committed,
        default="read_uncommitted",
        note="`read_committed` leaves out records of aborted transactions and waits for open ones.",
    )
    yield from honoured(
        "max.partition.fetch.bytes",
        "fetch_bytes",
        integer(1),
        default="8388608",
        note="Bytes asked of a partition in one Fetch; a larger batch is still read.",
    )
    yield from honoured(
        "fetch.max.bytes",
        "fetch_max_bytes",
        integer(1),
        default="52428800",
        note="Upper bound of `max.partition.fetch.bytes`: one Fetch asks for one partition.",
    )
    yield from honoured(
        "fetch.min.bytes",
        "fetch_min_bytes",
        integer(),
        default="1",
        note="Bytes that the broker waits for before it answers.",
    )
    yield from honoured(
        "fetch.max.wait.ms",
        "fetch_max_wait_ms",
        integer(),
        default="500",
        note="Longest time that the broker waits for `fetch.min.bytes`.",
    )
    yield from honoured(
        "check.crcs",
        "check_crcs",
        flag,
        default="true",
        note="Check the checksum of each batch that is read.",
    )
    yield from honoured(
        "exclude.internal.topics",
        "exclude_internal_topics",
        flag,
        default="true",
        note="Leave internal topics out of those that `subscribePattern` matches.",
    )
    yield from ignored("A read never creates a topic.", "allow.auto.create.topics")
    yield from ignored(
        "Rows leave in Arrow batches; Spark limits a micro-batch by `maxOffsetsPerTrigger`.",
        "max.poll.records",
        "max.poll.interval.ms",
    )
    yield from ignored(
        "Reads join no consumer group: offsets are in Spark's checkpoint. The broker checks READ"
        " on topics alone.",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "session.timeout.ms",
        "partition.assignment.strategy",
        "auto.commit.interval.ms",
        "internal.leave.group.on.close",
        "internal.throw.on.fetch.stable.offset.unsupported",
    )
    yield from ignored(
        "Share groups are not used.", "share.acknowledgement.mode", "share.acquire.mode"
    )
    yield from refused(
        "set startingOffsets to 'earliest' or 'latest' instead; Spark keeps track of what has been"
        " read, and a restarted query goes on where it stopped",
        "auto.offset.reset",
        side=Side.READ,
    )
    yield from refused(
        "keys and values are read as binary columns; use DataFrame operations to deserialize them",
        "key.deserializer",
        "value.deserializer",
        side=Side.READ,
    )
    yield from refused(
        "offsets are committed in Spark's checkpoint only", "enable.auto.commit", side=Side.READ
    )
    yield from refused(
        "interceptors are Java classes, and may change records; use DataFrame operations",
        "interceptor.classes",
    )


def _committed(value: str) -> bool:
    return bool(choice("read_committed", "read_uncommitted")(value) == "read_committed")
