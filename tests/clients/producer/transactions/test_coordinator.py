"""Requests to coordinators: retries, moved coordinators, errors by kind."""

import pytest
import trio

from tests.clients.producer.kit import producer_of, record
from trio_kafka.clients.errors import AbortableError, FatalError, ProducerFencedError, TimedOutError
from trio_kafka.clients.group_metadata import GroupMetadata
from trio_kafka.controls.faults import FaultRule
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.testing.simulate import simulate

PLACE = TopicPartition("t", 0)
GROUP = GroupMetadata(group_id="g", generation=-1)


def requests(sim, api):
    return sim.kafka.controls.recorder.requests(api)


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    ],
)
@simulate(seeds=1)
async def test_errors_that_may_pass_are_retried(sim, code):
    await sim.kafka.create_topic("t")
    with sim.kafka.controls.faults.add(FaultRule(api="EndTxn", error=code, times=2)) as fault:
        async with producer_of(sim, transactional_id="x") as producer, producer.transaction():
            sim.kafka.controls.recorder.start()
            await producer.send(record(b"in"))
        assert fault.hits == 2

    # A coordinator that has moved is looked for again.
    moved = code is ErrorCode.NOT_COORDINATOR
    assert len(requests(sim, "FindCoordinator")) == (2 if moved else 0)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ErrorCode.INVALID_PRODUCER_EPOCH, ProducerFencedError),
        (ErrorCode.PRODUCER_FENCED, ProducerFencedError),
        (ErrorCode.INVALID_TXN_STATE, FatalError),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, FatalError),
        (ErrorCode.UNKNOWN_PRODUCER_ID, AbortableError),
        (ErrorCode.TRANSACTION_ABORTABLE, AbortableError),
    ],
)
@simulate(seeds=1)
async def test_other_errors_of_a_commit_are_raised_by_their_kind(sim, code, kind):
    await sim.kafka.create_topic("t")
    async with producer_of(sim, transactional_id="x") as producer:
        rule = FaultRule(api="EndTxn", error=code, times=1)
        with sim.kafka.controls.faults.add(rule), pytest.raises(kind, match=code.name):
            async with producer.transaction():
                await producer.send(record(b"maybe"))
        if kind is AbortableError:
            async with producer.transaction():
                await producer.send(record(b"in"))
        else:
            with pytest.raises(FatalError):
                async with producer.transaction():
                    await producer.send(record(b"out"))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, AbortableError),
        (ErrorCode.GROUP_ID_NOT_FOUND, AbortableError),
        (ErrorCode.INVALID_COMMIT_OFFSET_SIZE, FatalError),
    ],
)
@simulate(seeds=1)
async def test_error_of_offsets_that_the_request_does_not_know_is_fatal(sim, code, kind):
    async with producer_of(sim, transactional_id="x") as producer:
        rule = FaultRule(api="TxnOffsetCommit", error=code, times=1)
        with sim.kafka.controls.faults.add(rule), pytest.raises(kind, match=code.name):
            async with producer.transaction() as transaction:
                await transaction.send_offsets({PLACE: 5}, GROUP)


@simulate(seeds=1)
async def test_transaction_that_needs_a_new_epoch_can_be_begun_again_when_it_is_allowed(sim):
    await sim.kafka.create_topic("t")
    denied = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    async with producer_of(sim, transactional_id="x", max_block_ms=2000) as producer:
        sim.universe.cut("kafka", "clients")
        with pytest.raises(TimedOutError):
            async with producer.transaction() as transaction:
                await transaction.send_offsets({PLACE: 5}, GROUP)
        sim.universe.heal("kafka", "clients")
        rule = FaultRule(api="InitProducerId", error=denied)
        with sim.kafka.controls.faults.add(rule), pytest.raises(AbortableError, match=denied.name):
            async with producer.transaction():
                pass
        async with producer.transaction():
            await producer.send(record(b"in"))


@pytest.mark.parametrize("release", [None, "3.9"])
@simulate(seeds=1)
async def test_offsets_of_a_member_that_was_removed_abort_the_transaction(sim, release):
    if release:
        await sim.kafka.as_version(release)
    await sim.kafka.create_topic("t")
    stranger = GroupMetadata(group_id="g", generation=4, member_id="gone")
    async with producer_of(sim, transactional_id="x") as producer:
        with pytest.raises(AbortableError, match=r"UNKNOWN_MEMBER_ID|ILLEGAL_GENERATION"):
            async with producer.transaction() as transaction:
                await transaction.send_offsets({PLACE: 5}, stranger)
        async with producer.transaction() as transaction:
            await transaction.send_offsets({PLACE: 5}, GROUP)

    async with sim.consumer(partitions=[PLACE], group="g") as consumer:
        assert await consumer.committed() == {PLACE: 5}


@simulate(seeds=1)
async def test_coordinator_that_is_silent_is_an_error_within_max_block(sim):
    await sim.kafka.create_topic("t")
    settings = {"max_block_ms": 3000, "request_timeout_ms": 1000}
    async with producer_of(sim, transactional_id="x", **settings) as producer:
        rule = FaultRule(api="TxnOffsetCommit", drop=True)
        with sim.kafka.controls.faults.add(rule), pytest.raises(TimedOutError) as caught:
            async with producer.transaction() as transaction:
                start = trio.current_time()
                await transaction.send_offsets({PLACE: 5}, GROUP)
        assert caught.value.sent
        assert 3.0 <= trio.current_time() - start < 3.5


@simulate(seeds=1)
async def test_older_protocol_adds_partitions_once_before_their_first_batch(sim):
    await sim.kafka.as_version("3.9")
    await sim.kafka.create_topic("t", 2)
    sim.kafka.controls.recorder.start()
    async with producer_of(sim, transactional_id="x") as producer, producer.transaction():
        for number in range(6):
            await (await producer.send(record(b"%d" % number, partition=number % 2)))

    added = requests(sim, "AddPartitionsToTxn")
    assert len(added) == 2
    assert len(requests(sim, "Produce")) == 6


@simulate(seeds=1)
async def test_newer_protocol_adds_no_partitions(sim):
    await sim.kafka.create_topic("t", 2)
    sim.kafka.controls.recorder.start()
    async with producer_of(sim, transactional_id="x") as producer, producer.transaction():
        await producer.send(record(b"in"))

    assert not requests(sim, "AddPartitionsToTxn")
