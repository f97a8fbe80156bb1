import asyncio
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from order_totals import OrderTotals

from trio_kafka.testing.kafka.threaded import Kafka

pytestmark = [pytest.mark.kafka(topics=["orders", "totals"]), pytest.mark.usefixtures("totals")]


def order(customer: str, price: int) -> str:
    return json.dumps({"customer": customer, "price": price})


@pytest_asyncio.fixture
async def totals(kafka: Kafka) -> AsyncIterator[OrderTotals]:
    async with OrderTotals(kafka.bootstrap) as service:
        running = asyncio.create_task(service.run())
        yield service
        running.cancel()


async def test_orders_are_added_up(kafka: Kafka) -> None:
    await kafka.aio.produce("orders", order("ann", 3), order("bob", 5), order("ann", 4))

    written = await kafka.aio.wait_for_records("totals", 3)

    assert [(record.key, record.value) for record in written] == [
        (b"ann", b"3"),
        (b"bob", b"5"),
        (b"ann", b"7"),
    ]
    group = await kafka.aio.wait_for_group("order-totals", lag=0)
    assert group.offsets == {("orders", 0): 3}


async def test_a_broker_that_is_killed_loses_no_order(kafka: Kafka) -> None:
    await kafka.aio.produce("orders", order("ann", 3))
    await kafka.aio.wait_for_records("totals", 1)

    await kafka.aio.kill()
    await kafka.aio.start()

    await kafka.aio.produce("orders", order("ann", 4))
    written = await kafka.aio.wait_for_records("totals", 2, timeout_s=30)
    assert written[-1].value == b"7"
