import pytest
import trio
from packing import pack_orders
from shop import place_orders

from trio_kafka.testing.kafka.threaded import Kafka

ORDERS = [(f"customer {number}", "tea", 3) for number in range(20)]


@pytest.mark.kafka(topics={"orders": 3})
async def test_each_order_is_packed_once_and_committed(kafka: Kafka) -> None:
    packed: list[tuple[str, str]] = []

    async with trio.open_nursery() as nursery:
        nursery.start_soon(pack_orders, kafka.bootstrap, lambda *order: packed.append(order))
        await place_orders(kafka.bootstrap, ORDERS)
        await kafka.aio.wait_until(lambda: len(packed) == len(ORDERS))
        await kafka.aio.wait_for_group("packing", lag=0)
        nursery.cancel_scope.cancel()

    assert sorted(packed) == sorted((customer, item) for customer, item, _ in ORDERS)
