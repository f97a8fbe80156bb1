"""Run of `bench consume`: records from the beginning of a topic."""

import time
from collections.abc import Mapping
from typing import Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.cli.bench.measurement import Measurement
from trio_kafka.cli.bench.options import show_progress
from trio_kafka.clients.consumer.opening import open_consumer
from trio_kafka.clients.errors import Place, TimedOutError
from trio_kafka.model import TopicPartition

_PROGRESS_S: Final = 1.0
_POLL_S: Final = 1.0


@frozen(kw_only=True)
class ConsumePlan:
    """Load of a consumer. records: at most; the end of the topic ends it, too.

    timeout_s: without any record.
    """

    settings: Mapping[str, object]
    topic: str
    records: int
    timeout_s: float


async def consume_records(plan: ConsumePlan) -> Measurement:
    """Read records from the beginning to the end that the topic has now, and return the figures.

    Raises ClientError, also if no record comes for so long.
    """
    measurement = Measurement()
    async with open_consumer(plan.settings) as consumer:
        numbers = await consumer.partitions_of(plan.topic)
        partitions = [TopicPartition(plan.topic, number) for number in numbers]
        ends = await consumer.end_offsets(partitions)
        starts = await consumer.beginning_offsets(partitions)
        missing = {at for at in partitions if starts[at] < ends[at]}
        consumer.assign(missing)
        consumer.seek_to_beginning(missing)
        began = reported = received = time.perf_counter()
        cpu = time.process_time()
        while missing and measurement.records < plan.records:
            before = measurement.records
            for record in await consumer.poll(min(_POLL_S, plan.timeout_s)):
                measurement.records += 1
                measurement.bytes += len(record.key or b"") + len(record.value or b"")
            missing = {at for at in missing if await consumer.position(at) < ends[at]}
            now = time.perf_counter()
            if measurement.records > before:
                received = now
            elif missing and now - received >= plan.timeout_s:
                place = Place(topic=plan.topic)
                raise TimedOutError(f"no record within {plan.timeout_s:g} s", place=place)
            if now - reported >= _PROGRESS_S:
                show_progress(measurement.records, plan.records, now - began)
                reported = now
        measurement.seconds = time.perf_counter() - began
        measurement.cpu_seconds = time.process_time() - cpu
    return measurement


def runner(plan: ConsumePlan) -> Measurement:
    """Run in a loop of its own."""
    return trio.run(consume_records, plan)
