"""Ready-made batches, written and read without looking at records: what the server can move."""

import time
from functools import partial
from random import Random
from typing import Final

from tests.benchmarks import protocol
from tests.benchmarks.bounds import times_other
from tests.benchmarks.figures import Figures
from tests.benchmarks.rows.registry import Target, row
from tests.benchmarks.text import text_like_logs
from tests.benchmarks.topics import watermarks

IN_FLIGHT: Final = 5
PRODUCE: Final = partial(times_other, "produce, server CPU")
FETCH: Final = times_other("fetch, server CPU", must=1.15, aim=0.95)


@row("raw-100B-16kB", PRODUCE(must=0.9, aim=0.6), FETCH, value_size=100, batch_size=16_000)
@row("raw-100B-900kB", PRODUCE(must=0.5, aim=0.42), FETCH, value_size=100, batch_size=900_000)
@row("raw-10KiB-900kB", PRODUCE(must=0.7, aim=0.6), FETCH, value_size=10_240, batch_size=900_000)
@row(
    "raw-1000-partitions",
    PRODUCE(must=0.9, aim=0.6),
    FETCH,
    value_size=100,
    batch_size=16_000,
    partitions=1000,
)
def raw(target: Target, value_size: int, batch_size: int, partitions: int = 1) -> Figures:
    """Batches for the partitions in turn."""
    batch, records = make_batch(value_size, batch_size)
    with target.topic(partitions, much=len(batch)) as topic:
        produced = produce(target, topic, batch, partitions=partitions)
        return {**produced, **fetch(target, topic, batch, records, partitions)}


def make_batch(value_size: int, batch_size: int) -> tuple[bytes, int]:
    """A batch of about that many bytes, and how many records it has."""
    random = Random(4)
    values = [text_like_logs(value_size, random) for _ in range(64)]
    records = batch_size // (value_size + 8)
    return protocol.record_batch([values[n % 64] for n in range(records)]), records


def produce(
    target: Target, topic: str, batch: bytes, name: str = "produce", partitions: int = 1
) -> Figures:
    """One connection, acks=all, five requests in flight. name: of the figures."""
    requests = [
        protocol.produce_request(topic, batch, acks=-1, first=number)
        for number in range(partitions)
    ]
    sent = answered = 0
    with target.connect() as connection, target.meter() as meter:
        end = time.perf_counter() + target.seconds
        while True:
            more = time.perf_counter() < end and sent * len(batch) < target.limit
            if more and sent - answered < IN_FLIGHT:
                connection.send(requests[sent % partitions])
                sent += 1
            elif answered < sent:
                if error := protocol.produce_error(topic, connection.answer()):
                    raise ValueError(f"Produce: error {error}")
                answered += 1
            else:
                break
    return meter.transfer(name, sent * len(batch))


def fetch(target: Target, topic: str, batch: bytes, records: int, partitions: int = 1) -> Figures:
    """One connection, 1 MiB at a time from the first offset on; at the end again from there."""
    largest = max(1 << 20, len(batch))
    first = watermarks(target.broker.bootstrap, topic)[0]
    offsets = [first] * partitions
    got = number = 0
    with target.connect() as connection, target.meter() as meter:
        end = time.perf_counter() + target.seconds
        while time.perf_counter() < end and got < target.limit:
            offset = offsets[number]
            request = protocol.fetch_request(topic, offset, largest, number)
            error, high, size = protocol.fetch_answer(topic, connection.call(request))
            if error:
                raise ValueError(f"Fetch: error {error}")
            batches = size // len(batch)  # the last one may be cut short
            if not batches and offset == first:
                raise ValueError("Fetch: no records")
            got += batches * len(batch)
            offset += batches * records
            offsets[number] = first if offset >= high or not batches else offset
            number = (number + 1) % partitions
    return meter.transfer("fetch", got)
