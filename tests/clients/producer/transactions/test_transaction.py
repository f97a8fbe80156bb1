"""Transactions against the broker, in both protocols, in one loop and virtual time."""

import pytest
import trio

from tests.clients.producer.kit import producer_of, record
from trio_kafka.clients.errors import (
    AbortableError,
    ClientError,
    FatalError,
    RecordTooLargeError,
    TimedOutError,
)
from trio_kafka.clients.group_metadata import GroupMetadata
from trio_kafka.controls.faults import FaultRule
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.testing.simulate import simulate

PLACE = TopicPartition("t", 1)
OLD = "3.9"  # a release whose clusters have the older protocol
BOTH = pytest.mark.parametrize("release", [None, OLD])


async def begin(sim, release, **configs):
    """Create the topic, on a broker of a release."""
    if release is not None:
        await sim.kafka.as_version(release)
    await sim.kafka.create_topic("t", 2, **configs)


async def committed(sim):
    log = await sim.log("t", committed=True)
    return [row.value for rows in log.values() for row in rows.values()]


@BOTH
@simulate(seeds=1)
async def test_committed_records_are_read_and_aborted_ones_are_not(sim, release):
    await begin(sim, release)

    async with producer_of(sim, transactional_id="x") as producer:
        for number in range(3):
            async with producer.transaction():
                await producer.send(record(b"in %d" % number, partition=number % 2))
            with pytest.raises(LookupError):
                async with producer.transaction():
                    receipt = await producer.send(record(b"out %d" % number, partition=0))
                    if number:
                        await receipt
                    raise LookupError
        is_new = producer.transactions.machine.is_new_protocol

    assert is_new == (release is None)
    assert sorted(await committed(sim)) == [b"in 0", b"in 1", b"in 2"]


@BOTH
@simulate(seeds=1)
async def test_cancelled_transaction_is_aborted_and_the_next_one_commits(sim, release):
    await begin(sim, release)

    async with producer_of(sim, transactional_id="x") as producer:
        with trio.move_on_after(1.0) as scope:
            async with producer.transaction():
                await (await producer.send(record(b"out", partition=0)))
                await trio.sleep_forever()
        assert scope.cancelled_caught
        async with producer.transaction():
            await producer.send(record(b"in", partition=0))

    assert await committed(sim) == [b"in"]
    assert (await sim.kafka.transactions())[0].state == "CompleteCommit"


@simulate(seeds=1)
async def test_transaction_that_is_cancelled_at_its_end_with_all_records_stored_is_aborted(sim):
    await begin(sim, None)

    async with producer_of(sim, transactional_id="x") as producer:
        with trio.CancelScope() as scope:
            async with producer.transaction():
                await (await producer.send(record(b"out", partition=0)))
                scope.cancel()
        assert scope.cancelled_caught

    assert await committed(sim) == []


@BOTH
@simulate(seeds=1)
async def test_record_that_fails_aborts_its_transaction(sim, release):
    await begin(sim, release, configs={"max.message.bytes": "500"})

    async with producer_of(sim, transactional_id="x") as producer:
        with pytest.raises(AbortableError, match=r"was aborted: t-0 .*TOO_LARGE"):
            async with producer.transaction():
                small = await producer.send(record(b"out", partition=1))
                large = await producer.send(record(bytes(600), partition=0))
        with pytest.raises(RecordTooLargeError):
            await large
        assert small.is_done
        for number in range(2):
            async with producer.transaction():
                await producer.send(record(b"in %d" % number, partition=0))

    assert await committed(sim) == [b"in 0", b"in 1"]


@simulate(seeds=1)
async def test_failed_transaction_takes_no_more_records(sim):
    await begin(sim, None, configs={"max.message.bytes": "500"})

    async with producer_of(sim, transactional_id="x") as producer:
        with pytest.raises(AbortableError, match="the transaction has failed: t-0"):
            async with producer.transaction():
                receipt = await producer.send(record(bytes(600), partition=0))
                with pytest.raises(RecordTooLargeError):
                    await receipt
                await producer.send(record(b"out", partition=0))

    assert await committed(sim) == []


@BOTH
@simulate(seeds=1)
async def test_offsets_of_a_group_are_committed_with_the_records(sim, release):
    await begin(sim, release)
    group = GroupMetadata(group_id="g")
    place = TopicPartition("t", 1)

    async with producer_of(sim, transactional_id="x") as producer:
        async with producer.transaction() as transaction:
            await producer.send(record(b"in"))
            await transaction.send_offsets({place: 7}, group)
        with pytest.raises(LookupError):
            async with producer.transaction() as transaction:
                await transaction.send_offsets({place: 9}, group)
                raise LookupError

    async with sim.consumer(partitions=[place], group="g") as consumer:
        assert await consumer.committed() == {place: 7}


@BOTH
@simulate(seeds=1)
async def test_transaction_that_sends_no_offsets_is_committed_with_nothing(sim, release):
    await begin(sim, release)

    async with producer_of(sim, transactional_id="x") as producer:
        async with producer.transaction() as transaction:
            await transaction.send_offsets({}, GroupMetadata(group_id="g"))
        async with producer.transaction():
            await producer.send(record(b"in", partition=0))

    assert await committed(sim) == [b"in"]


@simulate(seeds=1)
async def test_abort_waits_for_the_answer_to_an_addition_and_ends_what_it_has_begun(sim):
    await begin(sim, OLD)

    async with producer_of(sim, transactional_id="x", transaction_timeout_ms=30_000) as producer:
        rule = FaultRule(api="AddPartitionsToTxn", delay_s=2.0, times=1)
        with sim.kafka.controls.faults.add(rule), pytest.raises(LookupError):
            async with producer.transaction():
                await producer.send(record(b"out", partition=0))
                await trio.sleep(0.5)
                raise LookupError
        await trio.sleep(1)
        state = (await sim.kafka.transactions())[0].state
        await trio.sleep(60)  # the broker would abort what is open, and fence the producer
        for number in range(2):
            async with producer.transaction():
                await producer.send(record(b"in %d" % number, partition=0))

    assert state == "CompleteAbort"
    assert await committed(sim) == [b"in 0", b"in 1"]


@pytest.mark.parametrize("api", ["AddPartitionsToTxn", "AddOffsetsToTxn"])
@simulate(seeds=1)
async def test_addition_that_is_denied_aborts_a_transaction_of_which_the_broker_does_not_know(
    sim, api
):
    await begin(sim, OLD)
    rule = FaultRule(api=api, error=ErrorCode.GROUP_AUTHORIZATION_FAILED, times=1)

    async with producer_of(sim, transactional_id="x") as producer:
        with sim.kafka.controls.faults.add(rule), pytest.raises(AbortableError):
            async with producer.transaction() as transaction:
                if api == "AddOffsetsToTxn":
                    await transaction.send_offsets({PLACE: 7}, GroupMetadata(group_id="g"))
                await producer.send(record(b"out", partition=0))
        async with producer.transaction():
            await producer.send(record(b"in", partition=0))

    assert await committed(sim) == [b"in"]


@pytest.mark.parametrize("api", ["AddPartitionsToTxn", "AddOffsetsToTxn"])
@simulate(seeds=1)
async def test_addition_without_an_answer_aborts_what_it_may_have_begun(sim, api):
    await begin(sim, OLD)
    rule = FaultRule(api=api, disconnect="after")
    settings = {"max_block_ms": 2000, "transaction_timeout_ms": 30_000}

    async with producer_of(sim, transactional_id="x", **settings) as producer:
        with sim.kafka.controls.faults.add(rule), pytest.raises((AbortableError, TimedOutError)):
            async with producer.transaction() as transaction:
                if api == "AddOffsetsToTxn":
                    await transaction.send_offsets({PLACE: 7}, GroupMetadata(group_id="g"))
                await producer.send(record(b"out", partition=0))
        state = (await sim.kafka.transactions())[0].state
        await trio.sleep(60)
        async with producer.transaction():
            await producer.send(record(b"in", partition=0))

    assert state in {"Empty", "CompleteAbort"}
    assert await committed(sim) == [b"in"]


@simulate(seeds=1)
async def test_second_producer_of_an_id_fences_the_first(sim):
    await begin(sim, None)

    async with producer_of(sim, transactional_id="x") as first:
        async with first.transaction():
            await first.send(record(b"in", partition=0))
        with pytest.raises(ClientError):
            async with first.transaction():
                await (await first.send(record(b"out", partition=0)))
                async with producer_of(sim, transactional_id="x") as second, second.transaction():
                    await second.send(record(b"second", partition=0))
        with pytest.raises(FatalError):
            async with first.transaction():
                await first.send(record(b"out", partition=0))

    assert await committed(sim) == [b"in", b"second"]


@BOTH
@simulate(seeds=1)
async def test_commit_whose_answers_are_lost_is_repeated(sim, release):
    await begin(sim, release)

    async with producer_of(sim, transactional_id="x", request_timeout_ms=1000) as producer:
        for number in range(3):
            rule = FaultRule(api="EndTxn", disconnect="after", times=1)
            with sim.kafka.controls.faults.add(rule):
                async with producer.transaction():
                    await producer.send(record(b"in %d" % number, partition=0))

    assert await committed(sim) == [b"in 0", b"in 1", b"in 2"]


@simulate(seeds=1)
async def test_commit_without_an_answer_is_an_error_that_says_so(sim):
    await begin(sim, None)

    async with producer_of(
        sim, transactional_id="x", request_timeout_ms=500, max_block_ms=2000
    ) as producer:
        rule = FaultRule(api="EndTxn", drop=True)
        unknown = "it is not known whether the transaction is committed"
        with sim.kafka.controls.faults.add(rule), pytest.raises(TimedOutError, match=unknown) as e:
            async with producer.transaction():
                await producer.send(record(b"maybe", partition=0))
        assert e.value.sent
        async with producer.transaction():
            await producer.send(record(b"in", partition=0))

    assert await committed(sim) == [b"in"]


@BOTH
@simulate(seeds=2)
async def test_transactions_survive_kills_of_the_broker(sim, release):
    await begin(sim, release)

    async def strike():
        for _ in range(3):
            await trio.sleep(0.7)
            await sim.kafka.kill()
            await sim.kafka.start()

    async with (
        producer_of(sim, transactional_id="x") as producer,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(strike)
        for number in range(20):
            async with producer.transaction():
                await producer.send(record(b"%02d" % number, partition=0))
                await trio.sleep(0.1)

    assert await committed(sim) == [b"%02d" % number for number in range(20)]


@simulate(seeds=1)
async def test_record_outside_of_a_transaction_is_an_error(sim):
    await begin(sim, None)

    async with producer_of(sim, transactional_id="x") as producer:
        with pytest.raises(ClientError, match="no transaction is open"):
            await producer.send(record(b"x"))
    async with producer_of(sim) as producer:
        with pytest.raises(ValueError, match=r"want the setting transactional\.id"):
            producer.transaction()


@simulate(seeds=1)
async def test_coordinator_that_does_not_answer_is_an_error_when_the_producer_is_opened(sim):
    await sim.kafka.stop()
    with pytest.raises(TimedOutError, match="x: no answer within 2 s"):
        async with producer_of(sim, transactional_id="x", max_block_ms=2000):
            pass


@simulate(seeds=1)
async def test_denied_transactional_id_is_fatal(sim):
    rule = FaultRule(api="InitProducerId", error=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    with sim.kafka.controls.faults.add(rule), pytest.raises(FatalError, match="x"):
        async with producer_of(sim, transactional_id="x"):
            pass


@BOTH
@simulate(seeds=2)
async def test_transactions_under_chaos_are_committed_whole_or_not_at_all(sim, release):
    """Each transaction writes to both partitions; its outcome is checked against the log."""
    await begin(sim, release)
    outcomes = {}
    settings = {"request_timeout_ms": 1500, "max_block_ms": 30_000, "delivery_timeout_ms": 20_000}
    async with (
        producer_of(sim, transactional_id="x", **settings) as producer,
        sim.chaos(links=True, crashes=True, within_s=6.0),
    ):
        for number in range(25):
            name = b"%02d" % number
            outcomes[name] = "aborted"
            try:
                async with producer.transaction():
                    for partition in range(2):
                        await producer.send(record(name, partition=partition))
                    await trio.sleep(0.2)
                    if sim.chance.random() < 0.2:
                        raise LookupError
                outcomes[name] = "committed"
            except LookupError:
                pass
            except TimedOutError as error:
                outcomes[name] = "unknown" if error.sent else "aborted"
            except AbortableError:
                pass
    await sim.heal()

    log = await sim.log("t", committed=True)
    counts = [[row.value for row in rows.values()] for rows in log.values()]
    for name, outcome in outcomes.items():
        stored = [values.count(name) for values in counts]
        assert (
            stored
            in {
                "committed": [[1, 1]],
                "aborted": [[0, 0]],
                "unknown": [[0, 0], [1, 1]],
            }[outcome]
        ), (name, outcome)
    assert list(outcomes.values()).count("committed") > 10
