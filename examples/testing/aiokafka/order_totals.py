"""Keep the total of each customer's orders in a topic."""

import json
from collections import Counter

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer


class OrderTotals:
    """Reads `orders`, writes `totals`; commits the offset of an order when its total is written."""

    def __init__(self, bootstrap: str) -> None:
        self.totals: Counter[str] = Counter()
        self._consumer = AIOKafkaConsumer(
            "orders",
            bootstrap_servers=bootstrap,
            group_id="order-totals",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        self._producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True)

    async def __aenter__(self) -> "OrderTotals":
        await self._producer.start()
        await self._consumer.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._consumer.stop()
        await self._producer.stop()

    async def run(self) -> None:
        """Add up orders until cancelled."""
        async for record in self._consumer:
            order = json.loads(record.value)
            self.totals[order["customer"]] += order["price"]
            total = str(self.totals[order["customer"]])
            await self._producer.send_and_wait("totals", total.encode(), order["customer"].encode())
            await self._consumer.commit()
