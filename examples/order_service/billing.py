"""The office: every minute, one invoice for each customer, exactly once."""

import json
from collections import Counter

import trio

from trio_kafka.clients import (
    Consumer,
    PartitionStream,
    ProducerRecord,
    open_consumer,
    open_producer,
)
from trio_kafka.world.world import World

PERIOD_S = 60
Stream = PartitionStream[bytes | None, bytes | None]


async def bill_orders(bootstrap: str, world: World | None = None) -> None:
    """Write invoices to the topic `invoices` until cancelled."""
    config = {
        "bootstrap.servers": bootstrap,
        "group.id": "billing",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
    }
    async with open_consumer(config, world=world) as consumer:
        consumer.subscribe(["orders"])

        async def bill(stream: Stream) -> None:
            await bill_partition(bootstrap, consumer, stream, world)

        async with consumer.partitions() as streams:
            await streams.run(bill)


async def bill_partition(
    bootstrap: str,
    consumer: Consumer[bytes | None, bytes | None],
    stream: Stream,
    world: World | None,
) -> None:
    """Add up the orders of one partition; write invoices and offset in one transaction."""
    config = {
        "bootstrap.servers": bootstrap,
        "transactional.id": f"billing-{stream.at.partition}",
    }
    async with open_producer(config, world=world) as producer:
        while True:
            totals, next_offset = await add_up(stream)
            if next_offset is None:
                continue
            async with producer.transaction() as transaction:
                for customer, total in totals.items():
                    invoice = ProducerRecord("invoices", str(total).encode(), key=customer.encode())
                    await producer.send(invoice)
                await transaction.send_offsets({stream.at: next_offset}, consumer.group_metadata())


async def add_up(stream: Stream) -> tuple[Counter[str], int | None]:
    """Return the totals of the next period, and the offset after its last order."""
    totals: Counter[str] = Counter()
    next_offset = None
    with trio.move_on_after(PERIOD_S):
        async for records in stream:
            for record in records:
                order = json.loads(record.value or b"{}")
                totals[order["customer"]] += order["price"]
                next_offset = record.offset + 1
    return totals, next_offset
