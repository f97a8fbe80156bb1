"""A consumer of ours on the machine of the clients of a simulation."""

from contextlib import AbstractAsyncContextManager

from trio_kafka.clients import Consumer, ConsumerRecord, open_consumer
from trio_kafka.model import TopicPartition
from trio_kafka.testing.simulate.simulation import Simulation

Bytes = bytes | None
T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)


def consumer_of(
    sim: Simulation, *, close_timeout_s: float = 30.0, **settings: object
) -> AbstractAsyncContextManager[Consumer[Bytes, Bytes]]:
    """Open a consumer; `group_id="g"` is `group.id`. It begins at the start of the log."""
    config = {name.replace("_", "."): value for name, value in settings.items()}
    defaults = {"bootstrap.servers": str(sim.lives.address), "auto.offset.reset": "earliest"}
    return open_consumer({**defaults, **config}, world=sim.clients, close_timeout_s=close_timeout_s)


async def read(
    consumer: Consumer[Bytes, Bytes], count: int, timeout_s: float = 60.0
) -> list[ConsumerRecord[Bytes, Bytes]]:
    """Poll until so many records were read."""
    records: list[ConsumerRecord[Bytes, Bytes]] = []
    while len(records) < count:
        new = await consumer.poll(timeout_s)
        assert new, f"{len(records)} records of {count}"
        records += new
    return records


def values(records: list[ConsumerRecord[Bytes, Bytes]]) -> list[Bytes]:
    """The values of records."""
    return [record.value for record in records]
