"""Interceptors of a producer: before a record is serialized, and at its end."""

import attrs
import pytest

from trio_kafka.clients import ProducerInterceptor, ProducerRecord, open_producer
from trio_kafka.clients.errors import ClientError, ClosedError, RecordTooLargeError
from trio_kafka.clients.producer.record import RecordMetadata
from trio_kafka.testing.simulate import simulate


class Witness(ProducerInterceptor[bytes, bytes]):
    """Notes what it learns, and adds an exclamation mark."""

    def __init__(self) -> None:
        self.ends: list[int | type[ClientError]] = []
        self.is_closed = False

    def on_send(self, record: ProducerRecord[bytes, bytes]) -> ProducerRecord[bytes, bytes]:
        return attrs.evolve(record, value=record.value + b"!")

    def on_acknowledgement(
        self, metadata: RecordMetadata | None, error: ClientError | None
    ) -> None:
        if metadata is not None:
            self.ends.append(metadata.offset)
        if error is not None:
            self.ends.append(type(error))

    def close(self) -> None:
        self.is_closed = True


class Raising(ProducerInterceptor[bytes, bytes]):
    """Raises everywhere."""

    def on_send(self, record: ProducerRecord[bytes, bytes]) -> ProducerRecord[bytes, bytes]:
        raise RuntimeError("on_send")

    def on_acknowledgement(
        self, metadata: RecordMetadata | None, error: ClientError | None
    ) -> None:
        raise RuntimeError("on_acknowledgement")


def producer(sim, *interceptors: object, **settings: object):
    config = {
        "bootstrap.servers": str(sim.lives.address),
        "interceptor.classes": list(interceptors),
        **settings,
    }
    return open_producer(config, world=sim.clients)


@simulate(seeds=2)
async def test_interceptor_changes_records_and_learns_of_their_ends(sim):
    await sim.kafka.create_topic("t")
    witness = Witness()

    async with producer(sim, witness) as client:
        for number in range(3):
            await client.send(ProducerRecord("t", b"%d" % number, partition=0))
        await client.flush()
        client.send_nowait(ProducerRecord("t", b"3", partition=0))
        with pytest.raises(RecordTooLargeError):
            await client.send(ProducerRecord("t", bytes(2 << 20)))

    assert witness.ends == [0, 1, 2, RecordTooLargeError, 3]
    assert witness.is_closed
    assert [record.value for record in await sim.kafka.records("t")] == [
        b"0!",
        b"1!",
        b"2!",
        b"3!",
    ]


@simulate(seeds=1)
async def test_interceptor_that_raises_stops_no_record(sim):
    await sim.kafka.create_topic("t")
    witness = Witness()

    async with producer(sim, Raising(), witness) as client:
        receipt = await client.send(ProducerRecord("t", b"1"))
        await receipt
        errors = {name.name: value for name, value in client.metrics().items()}[
            "interceptor-error-total"
        ]

    assert witness.ends == [0]
    assert errors == 2


@simulate(seeds=1)
async def test_interceptor_learns_of_records_that_fail_at_the_end(sim):
    await sim.kafka.create_topic("t")
    witness = Witness()

    with pytest.raises(LookupError):
        async with producer(sim, witness, **{"linger.ms": 1000}) as client:
            await client.send(ProducerRecord("t", b"1"))
            await client.send(ProducerRecord("t", b"2"))
            raise LookupError

    assert witness.ends == [ClosedError, ClosedError]


@simulate(seeds=1)
async def test_interceptor_learns_of_each_record_of_a_batch_that_was_split(sim):
    await sim.kafka.create_topic("t", configs={"max.message.bytes": "4000"})
    witness = Witness()

    async with producer(sim, witness, **{"batch.size": 100_000, "linger.ms": 100}) as client:
        for _ in range(10):
            await client.send(ProducerRecord("t", bytes(1000), partition=0))

    assert sorted(witness.ends) == list(range(10))
