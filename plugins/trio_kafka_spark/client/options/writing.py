"""Options of a producer."""

from collections.abc import Iterator

from trio_kafka_spark.client.options.option import KafkaOption, Side, honoured, ignored, refused
from trio_kafka_spark.client.values import LARGEST_LONG, choice, flag, integer


def writing_options() -> Iterator[KafkaOption]:
    yield from honoured(
        "batch.size",
        "writing.batch_bytes",
        integer(1),
        default="131072",
        note="Bytes of one record batch before compression; a larger record is a batch of its own.",
    )
    yield from honoured(
        "compression.type",
        "writing.compression",
        choice("none", "gzip", "snappy", "lz4", "zstd"),
        default="none",
        note="Codec of the batches.",
    )
    levels = {"gzip": (-1, 9), "lz4": (1, 17), "zstd": (-131072, 22)}
    for codec, (low, high) in levels.items():
        yield from honoured(
            f"compression.{codec}.level",
            f"writing.{codec}_level",
            integer(low, high),
            default="",
            note=f"Compression level, where `compression.type` is {codec}.",
        )
    yield from honoured(
        "max.request.size",
        "writing.largest_request",
        integer(1),
        default="1048576",
        note="Largest request; a batch that does not fit is an error.",
    )
    yield from honoured(
        "buffer.memory",
        "writing.buffer_bytes",
        integer(1, LARGEST_LONG),
        default="33554432",
        note="Bytes that may be in flight in one task before it waits.",
    )
    yield from honoured(
        "max.in.flight.requests.per.connection",
        "writing.in_flight",
        integer(1, 5),
        default="5",
        note="Requests in flight to one broker; an idempotent producer has at most 5.",
    )
    yield from honoured(
        "delivery.timeout.ms",
        "writing.delivery_timeout_ms",
        integer(1),
        default="120000",
        note="Longest time for a batch with all its retries.",
    )
    yield from honoured(
        "max.block.ms",
        "writing.max_block_ms",
        integer(0, LARGEST_LONG),
        default="60000",
        note="Longest wait for the metadata of a topic.",
    )
    yield from honoured(
        "partitioner.ignore.keys",
        "writing.ignore_keys",
        flag,
        default="false",
        note="Spread records over all partitions even if they have a key.",
    )
    yield from ignored("A write is always acknowledged by all in-sync replicas.", "acks")
    yield from ignored("A write is always idempotent within one task.", "enable.idempotence")
    yield from ignored("`delivery.timeout.ms` bounds the retries.", "retries")
    yield from ignored("A batch is sent when it is full, or when its input ends.", "linger.ms")
    yield from ignored(
        "Memory is taken for each batch as it is encoded.", "buffer.memory.allocation.strategy"
    )
    yield from ignored(
        "Records without a key go to one partition after the other, batch by batch.",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.rack.aware",
    )
    yield from refused(
        "is a Java class; compute the column partition instead",
        "partitioner.class",
        side=Side.WRITE,
    )
    yield from refused(
        "keys and values are written as binary or string columns; use DataFrame operations to"
        " serialize them",
        "key.serializer",
        "value.serializer",
        side=Side.WRITE,
    )
    yield from refused(
        "each task of a write has an id of its own; use `exactlyOnce=true` and"
        " `transactionalIdPrefix`",
        "transactional.id",
        side=Side.WRITE,
    )
    yield from ignored(
        "The option of writes with `exactlyOnce=true` is `transactionTimeoutMs`.",
        "transaction.timeout.ms",
    )
    yield from ignored(
        "An epoch is committed by the list of its transactions.",
        "transaction.two.phase.commit.enable",
        "internal.auto.downgrade.txn.commit",
    )
