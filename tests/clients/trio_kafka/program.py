"""The clients of this project: what a producer and a consumer can do."""

from collections.abc import Awaitable, Callable, Collection
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from typing import Any

import trio

from tests.clients.program import (
    FETCH_WAIT_MS,
    NEW_TOPICS_MS,
    Ownership,
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
from trio_kafka.clients import (
    Consumer,
    ConsumerRecord,
    ProducerRecord,
    RebalanceListener,
    open_consumer,
    open_producer,
)
from trio_kafka.clients.errors import ClientError
from trio_kafka.model import TopicPartition

TIMEOUT_S = 30
Bytes = bytes | None
Taken = Callable[[Step], Awaitable[Any]]


def taken(take: Taken) -> Callable[[Step], Any]:
    """A step in a loop of its own."""

    def run(step: Step) -> Any:
        try:
            return trio.run(take, step, strict_exception_groups=False)
        except ClientError as error:
            raise StepError(error.code or -1, str(error)) from error

    return run


async def produce(step: Step) -> list[int]:
    config = {
        "bootstrap.servers": step["bootstrap"],
        "compression.type": step["codec"],
        "acks": step["acks"],
        "enable.idempotence": step["idempotent"],
        "max.request.size": step["max_bytes"],
        "linger.ms": 5,
    }
    async with open_producer(config) as producer:
        receipts = [
            await producer.send(
                ProducerRecord(
                    step["topic"],
                    record.value,
                    record.key,
                    partition=record.partition,
                    timestamp_ms=record.timestamp,
                    headers=record.headers,
                )
            )
            for record in load_records(path(step))
        ]
        return [(await receipt).offset for receipt in receipts]


def consumer_of(step: Step, **more: object) -> AbstractAsyncContextManager[Consumer[Bytes, Bytes]]:
    named = {name.replace("_", "."): value for name, value in more.items()}
    return open_consumer({"bootstrap.servers": step["bootstrap"], **named})


def as_found(record: ConsumerRecord[Bytes, Bytes]) -> ReadRecord:
    content = Record(
        partition=record.partition,
        timestamp=record.timestamp_ms,
        key=record.key,
        value=record.value,
        headers=tuple(record.headers),
    )
    return ReadRecord(offset=record.offset, record=content)


async def read(step: Step) -> int:
    expected = {TopicPartition(step["topic"], span.partition): span for span in spans(step)}
    remaining = sum(span.end - span.start for span in expected.values())
    result = []
    async with consumer_of(step, fetch_max_wait_ms=FETCH_WAIT_MS) as consumer:
        consumer.assign(expected)
        for at, span in expected.items():
            consumer.seek(at, span.start)
        while len(result) < remaining:
            records = await consumer.poll(TIMEOUT_S)
            if not records:
                raise StepError(-1, f"nothing came in {TIMEOUT_S} s; read {len(result)} records")
            result += [
                as_found(record)
                for record in records
                if record.offset < expected[TopicPartition(record.topic, record.partition)].end
            ]
    return save_found(path(step), result)


async def subscribe(step: Step) -> int:
    """Process and commit records; another member processes again what a rebalance refuses."""
    config: dict[str, object] = {"group_protocol": "consumer"}
    if is_classic(step):
        config = {
            "session_timeout_ms": step["session_ms"],
            "heartbeat_interval_ms": step["session_ms"] // 6,
            "partition_assignment_strategy": step["assignor"],
        }
    ownership, count = Ownership(step), 0

    async def note(event: str, partitions: Collection[TopicPartition]) -> None:
        ownership.note(event, (at.partition for at in partitions))

    listener = RebalanceListener(
        on_assigned=partial(note, "assigned"),
        on_revoked=partial(note, "revoked"),
        on_lost=partial(note, "lost"),
    )
    async with consumer_of(
        step,
        group_id=step["group"],
        metadata_max_age_ms=NEW_TOPICS_MS,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        **config,
    ) as consumer:
        if is_expression(step):
            consumer.subscribe(pattern=step["topic"], listener=listener)
        else:
            consumer.subscribe([step["topic"]], listener=listener)
        with path(step).open("a") as file:
            while not stopped(step):
                records = await consumer.poll(0.2)
                count += write_found(file, map(as_found, records))
                if records:
                    with suppress(ClientError):
                        await consumer.commit()
    return count


async def offsets(step: Step) -> list[int | None]:
    at = TopicPartition(step["topic"], step["partition"])
    result: list[int | None] = []
    async with consumer_of(step) as consumer:
        for time in step["times"]:
            if time == "earliest":
                result.append((await consumer.beginning_offsets([at]))[at])
            elif time == "latest":
                result.append((await consumer.end_offsets([at]))[at])
            else:
                answer = (await consumer.offsets_for_times({at: time}))[at]
                result.append(None if answer is None else answer.offset)
    return result


if __name__ == "__main__":
    serve({step.__name__: taken(step) for step in (produce, read, subscribe, offsets)})
