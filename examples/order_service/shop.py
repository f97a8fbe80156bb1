"""The shop: writes each order to the topic `orders`, by customer."""

import json
from collections.abc import Sequence

from trio_kafka.clients import ProducerRecord, open_producer
from trio_kafka.world.world import World


async def place_orders(
    bootstrap: str, orders: Sequence[tuple[str, str, int]], world: World | None = None
) -> None:
    """Store orders: customer, item and price. Raises ClientError for one that is not stored."""
    config = {"bootstrap.servers": bootstrap}
    async with open_producer(config, world=world) as producer:
        receipts = []
        for customer, item, price in orders:
            value = json.dumps({"customer": customer, "item": item, "price": price}).encode()
            record = ProducerRecord("orders", value, key=customer.encode())
            receipts.append(await producer.send(record))
        for receipt in receipts:
            await receipt
