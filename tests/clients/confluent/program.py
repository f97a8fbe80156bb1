"""confluent-kafka (librdkafka): all steps."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

from tests.clients.program import (
    FETCH_WAIT_MS,
    NEW_TOPICS_MS,
    Ownership,
    Span,
    Step,
    StepError,
    is_classic,
    is_expression,
    path,
    serve,
    spans,
    stopped,
)
from tests.clients.records import ReadRecord, Record, load_records, save_found, write_found

TIMEOUT_S = 30


def settings(step: Step, **more: object) -> dict[str, object]:
    return {
        "bootstrap.servers": step["bootstrap"],
        "enable.metrics.push": False,
        "log_level": 3,
        **{name.replace("_", "."): value for name, value in more.items()},
    }


def admin(step: Step) -> AdminClient:
    return AdminClient(settings(step))


def outcome(future: Any) -> Any:
    """The result; StepError for an error of the broker's."""
    try:
        return future.result(TIMEOUT_S)
    except KafkaException as error:
        raise as_step_error(error.args[0]) from error


def as_step_error(error: KafkaError) -> StepError:
    return StepError(max(error.code(), -1), error.str())


def create_topic(step: Step) -> None:
    topic = NewTopic(step["topic"], step["partitions"], 1, config=step["configs"])
    client = admin(step)
    outcome(client.create_topics([topic])[step["topic"]])


def create_partitions(step: Step) -> None:
    client = admin(step)
    outcome(client.create_partitions([NewPartitions(step["topic"], step["count"])])[step["topic"]])


def delete_topic(step: Step) -> None:
    client = admin(step)
    outcome(client.delete_topics([step["topic"]])[step["topic"]])


def list_topics(step: Step) -> list[str]:
    return list(admin(step).list_topics(timeout=TIMEOUT_S).topics)


def describe_topic(step: Step) -> list[list[Any]]:
    client = admin(step)
    result = outcome(client.describe_topics(TopicCollection([step["topic"]]))[step["topic"]])
    return [
        [p.id, p.leader.id, [node.id for node in p.replicas], [node.id for node in p.isr]]
        for p in result.partitions
    ]


def describe_cluster(step: Step) -> dict[str, Any]:
    client = admin(step)
    result = outcome(client.describe_cluster())
    return {
        "cluster_id": result.cluster_id,
        "controller": result.controller.id,
        "nodes": [[node.id, node.host, node.port] for node in result.nodes],
    }


def resource(step: Step, **more: Any) -> ConfigResource:
    kind = ConfigResource.Type[step["kind"].upper()]
    return ConfigResource(kind, step["name"], **more)


def describe_configs(step: Step) -> dict[str, Any]:
    client, config_resource = admin(step), resource(step)
    result = outcome(client.describe_configs([config_resource])[config_resource])
    return {name: [entry.value, entry.source != 5] for name, entry in result.items()}


def alter_configs(step: Step) -> None:
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in step["set"].items()
    ]
    entries += [
        ConfigEntry(name, None, incremental_operation=AlterConfigOpType.DELETE)
        for name in step["delete"]
    ]
    client, config_resource = admin(step), resource(step, incremental_configs=entries)
    outcome(client.incremental_alter_configs([config_resource])[config_resource])


def produce(step: Step) -> list[int]:
    """The offsets in the order of the file."""
    records, offsets, refused = list(load_records(path(step))), {}, []

    def delivered(n: int, error: KafkaError | None, message: Message) -> None:
        offsets[n] = message.offset()
        if error is not None:
            refused.append(error)

    client = Producer(
        settings(
            step,
            compression_type=step["codec"],
            acks=step["acks"],
            enable_idempotence=step["idempotent"],
            message_max_bytes=step["max_bytes"],
            linger_ms=5,
            queue_buffering_max_messages=len(records) + 1,
            queue_buffering_max_kbytes=1 << 20,
        )
    )
    for n, record in enumerate(records):
        client.produce(
            step["topic"],
            record.value,
            record.key,
            record.partition,
            on_delivery=lambda error, message, n=n: delivered(n, error, message),
            timestamp=record.timestamp or 0,
            headers=list(record.headers) or None,
        )
    remaining = client.flush(TIMEOUT_S)
    if refused:
        raise as_step_error(refused[0])
    if remaining:
        raise StepError(-1, f"{remaining} records are still on their way")
    return [offsets[n] for n in range(len(records))]


def read(step: Step) -> int:
    consumer = Consumer(
        settings(step, group_id="none", enable_auto_commit=False, fetch_wait_max_ms=FETCH_WAIT_MS)
    )
    expected = {span.partition: span for span in spans(step)}
    try:
        consumer.assign([TopicPartition(step["topic"], s.partition, s.start) for s in spans(step)])
        return save_found(path(step), found_by(consumer, expected))
    finally:
        consumer.close()


def subscribe(step: Step) -> int:
    """Process and commit records; another member processes again what a rebalance refuses."""
    how: dict[str, object] = {"group_protocol": "consumer"}
    if is_classic(step):
        how = {
            "session_timeout_ms": step["session_ms"],
            "heartbeat_interval_ms": step["session_ms"] // 6,
            "partition_assignment_strategy": step["assignor"],
        }
    how |= {"group_id": step["group"], "auto_offset_reset": "earliest"}
    if is_expression(step):  # which librdkafka knows by its `^`
        how["topic_metadata_refresh_interval_ms"] = NEW_TOPICS_MS
    consumer = Consumer(settings(step, enable_auto_commit=False, **how))
    count, ownership = 0, Ownership(step)

    def noted(event: str) -> Callable[[Consumer, list[TopicPartition]], None]:
        return lambda _, partitions: ownership.note(event, (p.partition for p in partitions))

    try:
        consumer.subscribe(
            [step["topic"]],
            on_assign=noted("assigned"),
            on_revoke=noted("revoked"),
            on_lost=noted("lost"),
        )
        with path(step).open("a") as file:
            while not stopped(step):
                messages = [m for m in consumer.consume(500, timeout=0.2) if not m.error()]
                count += write_found(file, map(as_found, messages))
                if messages:
                    with suppress(KafkaException):
                        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return count


def found_by(consumer: Consumer, expected: dict[int, Span]) -> Iterator[ReadRecord]:
    remaining = sum(span.end - span.start for span in expected.values())
    while remaining:
        messages = consumer.consume(min(remaining, 10_000), timeout=TIMEOUT_S)
        if not messages:
            raise StepError(
                -1, f"nothing came in {TIMEOUT_S} s; {remaining} records are to be read"
            )
        for message in messages:
            if message.error():
                raise as_step_error(message.error())
            if message.offset() < expected[message.partition()].end:
                remaining -= 1
                yield as_found(message)


def as_found(message: Message) -> ReadRecord:
    record = Record(
        partition=message.partition(),
        timestamp=message.timestamp()[1],
        key=message.key(),
        value=message.value(),
        headers=tuple(message.headers() or ()),
    )
    return ReadRecord(offset=message.offset(), record=record)


def offsets(step: Step) -> list[int | None]:
    client, result = admin(step), []
    for time in step["times"]:
        specs = {
            "earliest": OffsetSpec.earliest,
            "latest": OffsetSpec.latest,
            "max_timestamp": OffsetSpec.max_timestamp,
        }
        spec = specs[time]() if isinstance(time, str) else OffsetSpec.for_timestamp(time)
        partition = TopicPartition(step["topic"], step["partition"])
        answer = client.list_offsets(
            {partition: spec}, isolation_level=IsolationLevel.READ_UNCOMMITTED
        )
        result.append(outcome(answer[partition]).offset)
    return [None if offset == -1 else offset for offset in result]


if __name__ == "__main__":
    serve(
        {
            step.__name__: step
            for step in (
                create_topic,
                create_partitions,
                delete_topic,
                list_topics,
                describe_topic,
                describe_cluster,
                describe_configs,
                alter_configs,
                produce,
                read,
                subscribe,
                offsets,
            )
        }
    )
