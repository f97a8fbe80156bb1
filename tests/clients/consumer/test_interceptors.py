"""Interceptors of a consumer: of what is handed out, and of commits."""

from collections.abc import Mapping, Sequence

import attrs

from trio_kafka.clients import (
    ConsumerInterceptor,
    ConsumerRecord,
    OffsetAndMetadata,
    open_consumer,
)
from trio_kafka.model import TopicPartition
from trio_kafka.testing.simulate import simulate

AT = TopicPartition("t", 0)


class Odd(ConsumerInterceptor[bytes, bytes]):
    """Hands out records with odd offsets, each twice, and notes commits."""

    def __init__(self) -> None:
        self.commits: list[int] = []
        self.is_closed = False

    def on_consume(
        self, records: Sequence[ConsumerRecord[bytes, bytes]]
    ) -> Sequence[ConsumerRecord[bytes, bytes]]:
        return [
            attrs.evolve(record, value=record.value + mark)
            for record in records
            if record.offset % 2
            for mark in (b"a", b"b")
        ]

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self.commits.append(offsets[AT].offset)

    def close(self) -> None:
        self.is_closed = True


class Raising(ConsumerInterceptor[bytes, bytes]):
    """Raises everywhere."""

    def on_consume(
        self, records: Sequence[ConsumerRecord[bytes, bytes]]
    ) -> Sequence[ConsumerRecord[bytes, bytes]]:
        raise RuntimeError

    def on_commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        raise RuntimeError


def consumer(sim, *interceptors: object):
    config = {
        "bootstrap.servers": str(sim.lives.address),
        "group.id": "g",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
        "interceptor.classes": list(interceptors),
    }
    return open_consumer(config, world=sim.clients)


@simulate(seeds=2)
async def test_interceptor_decides_what_is_handed_out_and_learns_of_commits(sim):
    await sim.kafka.create_topic("t")
    for number in range(4):
        await sim.kafka.produce("t", b"%d" % number)
    odd = Odd()

    async with consumer(sim, Raising(), odd) as reader:
        reader.assign([AT])
        values = [(await anext(reader)).value for _ in range(4)]
        await reader.commit()
        errors = {name.name: value for name, value in reader.metrics().items()}

    assert values == [b"1a", b"1b", b"3a", b"3b"]
    assert odd.commits == [4]
    assert odd.is_closed
    assert errors["interceptor-error-total"] == 5


@simulate(seeds=1)
async def test_interceptor_sees_the_records_of_a_poll(sim):
    await sim.kafka.create_topic("t")
    for number in range(4):
        await sim.kafka.produce("t", b"%d" % number)

    async with consumer(sim, Odd()) as reader:
        reader.assign([AT])
        values: list[bytes] = []
        while len(values) < 4:
            values += [record.value for record in await reader.poll(1.0)]

    assert values == [b"1a", b"1b", b"3a", b"3b"]
