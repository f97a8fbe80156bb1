"""aiokafka: all steps."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from aiokafka import (
    AIOKafkaConsumer,
    AIOKafkaProducer,
    ConsumerRebalanceListener,
    TopicPartition,
)
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError, for_code

from tests.clients.program import (
    FETCH_WAIT_MS,
    NEW_TOPICS_MS,
    Ownership,
    Span,
    Step,
    StepError,
    is_expression,
    path,
    serve,
    spans,
    stopped,
)
from tests.clients.records import (
    ReadRecord,
    Record,
    as_found,
    load_records,
    save_found,
    write_found,
)

TIMEOUT_S = 30
DEFAULT_CONFIG = 5
ASSIGNORS = {"range": RangePartitionAssignor, "sticky": StickyPartitionAssignor}

AdminStep = Callable[[AIOKafkaAdminClient, Step], Awaitable[Any]]


def administered(take: AdminStep) -> Callable[[Step], Any]:
    """A step of the admin client."""

    async def taken(step: Step) -> Any:
        admin = AIOKafkaAdminClient(bootstrap_servers=step["bootstrap"])
        await admin.start()
        try:
            return await take(admin, step)
        finally:
            await admin.close()

    return lambda step: asyncio.run(taken(step))


def accepted(code: int, message: str | None) -> None:
    """StepError for an error in an answer, which aiokafka leaves to its caller."""
    if code:
        raise StepError(code, f"{for_code(code).__name__}: {message}")


async def create_topic(admin: AIOKafkaAdminClient, step: Step) -> None:
    topic = NewTopic(step["topic"], step["partitions"], 1, topic_configs=step["configs"])
    answer = await admin.create_topics([topic])
    for _, code, message in answer.topic_errors:
        accepted(code, message)


async def create_partitions(admin: AIOKafkaAdminClient, step: Step) -> None:
    answer = await admin.create_partitions({step["topic"]: NewPartitions(step["count"])})
    for _, code, message in answer.topic_errors:
        accepted(code, message)


async def delete_topic(admin: AIOKafkaAdminClient, step: Step) -> None:
    answer = await admin.delete_topics([step["topic"]])
    for _, code in answer.topic_error_codes:
        accepted(code, None)


async def list_topics(admin: AIOKafkaAdminClient, _: Step) -> list[str]:
    return list(await admin.list_topics())


async def describe_topic(admin: AIOKafkaAdminClient, step: Step) -> list[list[Any]]:
    [topic] = await admin.describe_topics([step["topic"]])
    accepted(topic["error_code"], None)
    result = sorted(topic["partitions"], key=lambda p: p["partition"])
    return [[p["partition"], p["leader"], p["replicas"], p["isr"]] for p in result]


async def describe_cluster(admin: AIOKafkaAdminClient, _: Step) -> dict[str, Any]:
    cluster = await admin.describe_cluster()
    return {
        "cluster_id": cluster["cluster_id"],
        "controller": cluster["controller_id"],
        "nodes": [[node["node_id"], node["host"], node["port"]] for node in cluster["brokers"]],
    }


def resource(step: Step, configs: dict[str, str] | None = None) -> ConfigResource:
    return ConfigResource(ConfigResourceType[step["kind"].upper()], step["name"], configs=configs)


async def describe_configs(admin: AIOKafkaAdminClient, step: Step) -> dict[str, Any]:
    [answer] = await admin.describe_configs([resource(step)])
    [(code, message, _, _, entries)] = answer.resources
    accepted(code, message)
    return {name: [value, source != DEFAULT_CONFIG] for name, value, _, source, *_ in entries}


async def alter_configs(admin: AIOKafkaAdminClient, step: Step) -> None:
    """Its request replaces what is set: what is not named has its default again."""
    for answer in await admin.alter_configs([resource(step, step["set"])]):
        for code, message, *_ in answer.resources:
            accepted(code, message)


async def produce(step: Step) -> list[int]:
    producer = AIOKafkaProducer(
        bootstrap_servers=step["bootstrap"],
        compression_type=None if step["codec"] == "none" else step["codec"],
        acks=step["acks"] if step["acks"] == "all" else int(step["acks"]),
        enable_idempotence=step["idempotent"],
        max_request_size=step["max_bytes"],
        linger_ms=5,
    )
    await producer.start()
    try:
        sent = [await send(producer, step["topic"], r) for r in load_records(path(step))]
        written = await asyncio.wait_for(asyncio.gather(*sent), TIMEOUT_S)
    finally:
        await producer.stop()
    return [each.offset if each is not None else -1 for each in written]


async def send(producer: AIOKafkaProducer, topic: str, record: Record) -> Awaitable[Any]:
    return await producer.send(
        topic,
        record.value,
        record.key,
        record.partition,
        timestamp_ms=record.timestamp,
        headers=list(record.headers),
    )


@asynccontextmanager
async def consumer(step: Step) -> AsyncIterator[AIOKafkaConsumer]:
    client = AIOKafkaConsumer(
        bootstrap_servers=step["bootstrap"],
        enable_auto_commit=False,
        fetch_max_wait_ms=FETCH_WAIT_MS,
    )
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


async def read(step: Step) -> int:
    expected = {TopicPartition(step["topic"], span.partition): span for span in spans(step)}
    async with consumer(step) as client:
        client.assign(list(expected))
        for partition, span in expected.items():
            client.seek(partition, span.start)
        return save_found(path(step), [record async for record in found_by(client, expected)])


async def subscribe(step: Step) -> int:
    """Process and commit records; another member processes again what a rebalance refuses."""
    client = AIOKafkaConsumer(
        bootstrap_servers=step["bootstrap"],
        group_id=step["group"],
        metadata_max_age_ms=NEW_TOPICS_MS,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        session_timeout_ms=step["session_ms"],
        heartbeat_interval_ms=step["session_ms"] // 6,
        partition_assignment_strategy=[ASSIGNORS[step["assignor"]]],
    )
    ownership = Ownership(step)
    listener = Listener(ownership)
    if is_expression(step):
        client.subscribe(pattern=step["topic"], listener=listener)
    else:
        client.subscribe([step["topic"]], listener=listener)
    await client.start()
    count = 0
    try:
        with path(step).open("a") as file:
            while not stopped(step):
                for messages in (await client.getmany(timeout_ms=200)).values():
                    count += write_found(file, map(as_found, messages))
                with suppress(KafkaError):
                    await client.commit()
    finally:
        ownership.note("revoked", (at.partition for at in client.assignment()))  # no hook says so
        await client.stop()
    return count


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Writes down which partitions the member has."""

    def __init__(self, ownership: Ownership) -> None:
        self._ownership = ownership

    async def on_partitions_assigned(self, assigned: list[TopicPartition]) -> None:
        self._ownership.note("assigned", (at.partition for at in assigned))

    async def on_partitions_revoked(self, revoked: list[TopicPartition]) -> None:
        self._ownership.note("revoked", (at.partition for at in revoked))


async def found_by(
    client: AIOKafkaConsumer, expected: dict[TopicPartition, Span]
) -> AsyncIterator[ReadRecord]:
    remaining = sum(span.end - span.start for span in expected.values())
    while remaining:
        batches = await client.getmany(timeout_ms=1000 * TIMEOUT_S)
        if not batches:
            raise StepError(
                -1, f"nothing came in {TIMEOUT_S} s; {remaining} records are to be read"
            )
        for partition, messages in batches.items():
            for message in messages:
                if message.offset < expected[partition].end:
                    remaining -= 1
                    yield as_found(message)


async def offsets(step: Step) -> list[int | None]:
    partition, result = TopicPartition(step["topic"], step["partition"]), []
    async with consumer(step) as client:
        for time in step["times"]:
            if time == "earliest":
                result.append((await client.beginning_offsets([partition]))[partition])
            elif time == "latest":
                result.append((await client.end_offsets([partition]))[partition])
            else:
                answer = (await client.offsets_for_times({partition: time}))[partition]
                result.append(None if answer is None else answer.offset)
    return result


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
    )
    serve(
        {step.__name__: administered(step) for step in administering}
        | {
            "produce": lambda step: asyncio.run(produce(step)),
            "read": lambda step: asyncio.run(read(step)),
            "subscribe": lambda step: asyncio.run(subscribe(step)),
            "offsets": lambda step: asyncio.run(offsets(step)),
        }
    )
