"""A broker in a thread of its own, used from plain functions and from other loops."""

import asyncio

import pytest
import trio
from confluent_kafka import Producer

from tests.testing.kafka.kit import values


def test_paused_broker_answers_no_request_until_resumed(kafka):
    kafka.pause()
    try:
        with pytest.raises(RuntimeError, match="paused already"):
            kafka.pause()
        producer = Producer(
            {"bootstrap.servers": kafka.bootstrap, "message.timeout.ms": 60_000, "log_level": 0}
        )
        producer.produce("orders", b"late")
        assert producer.flush(0.3) == 1
    finally:
        kafka.resume()
        kafka.resume()
    assert producer.flush(10) == 0
    assert values(kafka.records("orders")) == [b"late"]


def test_methods_of_a_broker_can_be_awaited_in_asyncio(kafka):
    async def main():
        await kafka.aio.produce("orders", b"a", b"b")
        both = await asyncio.gather(kafka.aio.records("orders"), kafka.aio.topics())
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(kafka.aio.wait_for_records("orders", 3, timeout_s=60), 0.05)
        return both

    records, topics = asyncio.run(main())
    assert values(records) == [b"a", b"b"]
    assert topics == ["orders"]
    assert not kafka.thread.calls


async def test_methods_of_a_broker_can_be_awaited_in_trio(kafka):
    await kafka.aio.produce("orders", b"a")
    with trio.move_on_after(0.05) as scope:
        await kafka.aio.wait_for_records("orders", 3, timeout_s=60)
    assert scope.cancelled_caught
    assert not kafka.thread.calls
    assert values(await kafka.aio.records("orders")) == [b"a"]
