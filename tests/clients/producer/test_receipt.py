"""Receipts: waits, results, and what they say before the end."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from trio_kafka.clients.errors import ClosedError
from trio_kafka.clients.producer.batch import Failed, ProducerBatch, Stored
from trio_kafka.clients.producer.receipt import Receipt, wait_end
from trio_kafka.model import TopicPartition
from trio_kafka.records.batch import Record
from trio_kafka.records.compression import Codec


def batch_of(count=2):
    batch = ProducerBatch(place=TopicPartition("t", 3), order=(1,), created=0.0, expires=9.0)
    for _ in range(count):
        batch.add(Record(-1, 1, None, b"v"), 20)
    return batch


async def test_receipt_wakes_every_task_that_awaits_it() -> None:
    batch = batch_of()
    receipt = Receipt(batch, 1, 55)
    places = []

    async def wait() -> None:
        places.append(await receipt)

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        batch.finish(Stored(base_offset=10))

    assert {(place.offset, place.partition, place.timestamp_ms) for place in places} == {
        (11, 3, 55)
    }


async def test_cancelled_wait_changes_nothing() -> None:
    batch = batch_of()
    receipt = Receipt(batch, 0, 55)
    with trio.move_on_after(0):
        await receipt.wait()
    batch.finish(Stored(base_offset=10, append_ms=99))

    place = await receipt
    assert (place.offset, place.timestamp_ms) == (10, 99)


async def test_each_wait_for_a_failed_record_raises_an_error_of_its_own() -> None:
    batch = batch_of()
    receipt = Receipt(batch, 0, 55)
    batch.finish(Failed(error=ClosedError("x", sent=True)))
    errors = []
    for _ in range(2):
        with pytest.raises(ClosedError) as caught:
            await receipt
        errors.append(caught.value)

    assert errors[0] is not errors[1]
    assert receipt.may_be_stored


def test_receipt_says_when_a_record_may_be_stored() -> None:
    batch = batch_of()
    receipt = Receipt(batch, 0, 55)
    assert not receipt.may_be_stored
    batch.in_flight = True
    assert receipt.may_be_stored
    batch.in_flight = False
    assert not receipt.may_be_stored
    batch.may_be_stored = True
    assert receipt.may_be_stored


async def test_wait_for_a_batch_lasts_until_the_ends_of_its_parts() -> None:
    batch = batch_of(4)
    ends = []

    async def wait() -> None:
        await wait_end(batch)
        ends.append(True)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        batch.close(Codec.NONE, None)
        parts = batch.split(40, 0.0)
        await wait_all_tasks_blocked()
        for part in parts:
            assert not ends
            part.finish(Stored())
            await wait_all_tasks_blocked()
    assert ends
