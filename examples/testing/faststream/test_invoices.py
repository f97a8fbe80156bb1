"""Against a real broker: what FastStream's TestBroker replaces is used too."""

import json

import pytest
from invoices import Order, connect

from trio_kafka.testing.kafka.threaded import Kafka

pytestmark = pytest.mark.kafka(topics=["orders", "invoices"])


async def test_an_order_becomes_an_invoice(kafka: Kafka) -> None:
    async with connect(kafka.bootstrap) as service:
        await service.start()
        await service.publish(Order(customer="ann", pieces=2, price=3), topic="orders")
        (invoice,) = await kafka.aio.wait_for_records("invoices", 1)

    assert json.loads(invoice.text) == {"customer": "ann", "total": 6}


async def test_an_order_that_is_none_stops_neither_the_service_nor_the_next(kafka: Kafka) -> None:
    async with connect(kafka.bootstrap) as service:
        await service.start()
        await kafka.aio.produce("orders", "no order", '{"customer": "b", "pieces": 1, "price": 1}')
        (invoice,) = await kafka.aio.wait_for_records("invoices", 1)

    assert json.loads(invoice.text) == {"customer": "b", "total": 1}
    group = await kafka.aio.wait_for_group("invoices", state="Empty")
    assert group.members == ()
