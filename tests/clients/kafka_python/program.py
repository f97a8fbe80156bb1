"""kafka-python: all steps."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, OffsetSpec
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaError, for_code

from tests.clients.program import (
    FETCH_WAIT_MS,
    NEW_TOPICS_MS,
    Span,
    Step,
    StepError,
    is_expression,
    path,
    serve,
    spans,
    stopped,
)
from tests.clients.records import ReadRecord, as_found, load_records, save_found, write_found

TIMEOUT_S = 30
NAMED = {
    "earliest": OffsetSpec.EARLIEST,
    "latest": OffsetSpec.LATEST,
    "max_timestamp": OffsetSpec.MAX_TIMESTAMP,
}


def administered(take: Callable[[KafkaAdminClient, Step], Any]) -> Callable[[Step], Any]:
    """A step of the admin client."""

    def taken(step: Step) -> Any:
        admin = KafkaAdminClient(bootstrap_servers=step["bootstrap"])
        try:
            return take(admin, step)
        finally:
            admin.close()

    return taken


def create_topic(admin: KafkaAdminClient, step: Step) -> None:
    options = {
        "num_partitions": step["partitions"],
        "replication_factor": 1,
        "configs": step["configs"],
    }
    admin.create_topics({step["topic"]: options})


def create_partitions(admin: KafkaAdminClient, step: Step) -> None:
    admin.create_partitions({step["topic"]: step["count"]})


def delete_topic(admin: KafkaAdminClient, step: Step) -> None:
    admin.delete_topics([step["topic"]])


def list_topics(admin: KafkaAdminClient, _: Step) -> list[str]:
    return list(admin.list_topics())


def describe_topic(admin: KafkaAdminClient, step: Step) -> list[list[Any]]:
    [topic] = admin.describe_topics([step["topic"]])
    if topic["error_code"]:
        raise StepError(topic["error_code"], for_code(topic["error_code"]).__name__)
    result = sorted(topic["partitions"], key=lambda p: p["partition_index"])
    return [
        [p["partition_index"], p["leader_id"], p["replica_nodes"], p["isr_nodes"]] for p in result
    ]


def describe_cluster(admin: KafkaAdminClient, _: Step) -> dict[str, Any]:
    cluster = admin.describe_cluster()
    return {
        "cluster_id": cluster["cluster_id"],
        "controller": cluster["controller_id"],
        "nodes": [[node["broker_id"], node["host"], node["port"]] for node in cluster["brokers"]],
    }


def describe_configs(admin: KafkaAdminClient, step: Step) -> dict[str, Any]:
    config_resource = ConfigResource(step["kind"], step["name"])
    result = admin.describe_configs([config_resource], config_filter="all")[step["kind"]][
        step["name"]
    ]
    return {
        name: [entry["value"], entry["config_source"] != "DEFAULT_CONFIG"]
        for name, entry in result.items()
    }


def alter_configs(admin: KafkaAdminClient, step: Step) -> None:
    changes = {name: ("SET", value) for name, value in step["set"].items()}
    changes |= dict.fromkeys(step["delete"], ("DELETE", None))
    config_resource = ConfigResource(step["kind"], step["name"], changes)
    result = admin.alter_configs([config_resource])[step["kind"]][step["name"]]
    if result != "OK":  # a text that begins with [Error CODE]
        raise StepError(int(result.split("]")[0].removeprefix("[Error ")), result)


def offsets(admin: KafkaAdminClient, step: Step) -> list[int | None]:
    partition, result = TopicPartition(step["topic"], step["partition"]), []
    for time in step["times"]:
        spec = NAMED.get(time, time)
        result.append(admin.list_partition_offsets({partition: spec})[partition].offset)
    return [None if offset == -1 else offset for offset in result]


def produce(step: Step) -> list[int]:
    producer = KafkaProducer(
        bootstrap_servers=step["bootstrap"],
        compression_type=None if step["codec"] == "none" else step["codec"],
        acks=step["acks"] if step["acks"] == "all" else int(step["acks"]),
        enable_idempotence=step["idempotent"],
        max_request_size=step["max_bytes"],
        linger_ms=5,
    )
    try:
        sent = [
            producer.send(
                step["topic"],
                record.value,
                record.key,
                list(record.headers),
                record.partition,
                record.timestamp,
            )
            for record in load_records(path(step))
        ]
        return [each.get(TIMEOUT_S).offset for each in sent]
    finally:
        producer.close(timeout=TIMEOUT_S)


def read(step: Step) -> int:
    consumer = KafkaConsumer(
        bootstrap_servers=step["bootstrap"],
        enable_auto_commit=False,
        fetch_max_wait_ms=FETCH_WAIT_MS,
    )
    expected = {TopicPartition(step["topic"], span.partition): span for span in spans(step)}
    try:
        consumer.assign(list(expected))
        for partition, span in expected.items():
            consumer.seek(partition, span.start)
        return save_found(path(step), found_by(consumer, expected))
    finally:
        consumer.close()


def subscribe(step: Step) -> int:
    """Process and commit records; another member processes again what a rebalance refuses."""
    consumer = KafkaConsumer(
        bootstrap_servers=step["bootstrap"],
        group_id=step["group"],
        metadata_max_age_ms=NEW_TOPICS_MS,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        session_timeout_ms=step["session_ms"],
        heartbeat_interval_ms=step["session_ms"] // 6,
        partition_assignment_strategy=[RangePartitionAssignor],
    )
    count = 0
    try:
        if is_expression(step):
            consumer.subscribe(pattern=step["topic"])
        else:
            consumer.subscribe([step["topic"]])
        with path(step).open("a") as file:
            while not stopped(step):
                for messages in consumer.poll(timeout_ms=200).values():
                    count += write_found(file, map(as_found, messages))
                with suppress(KafkaError):
                    consumer.commit()
    finally:
        consumer.close()
    return count


def found_by(consumer: KafkaConsumer, expected: dict[TopicPartition, Span]) -> Iterator[ReadRecord]:
    remaining = sum(span.end - span.start for span in expected.values())
    while remaining:
        batches = consumer.poll(timeout_ms=1000 * TIMEOUT_S)
        if not batches:
            raise StepError(
                -1, f"nothing came in {TIMEOUT_S} s; {remaining} records are to be read"
            )
        for partition, messages in batches.items():
            for message in messages:
                if message.offset < expected[partition].end:
                    remaining -= 1
                    yield as_found(message)


if __name__ == "__main__":
    administering = (
        create_topic,
        create_partitions,
        delete_topic,
        list_topics,
        describe_topic,
        describe_cluster,
        describe_configs,
        alter_configs,
        offsets,
    )
    serve(
        {step.__name__: administered(step) for step in administering}
        | {"produce": produce, "read": read, "subscribe": subscribe}
    )
