"""Commits and reads of committed offsets, with the errors of a coordinator, in virtual time."""

import pytest
import trio

from tests.clients.consumer.groups.kit import observed, wait_assigned, wait_shared
from tests.clients.consumer.kit import T0, consumer_of, read
from tests.clients.producer.kit import producer_of
from trio_kafka.clients import OffsetAndMetadata
from trio_kafka.clients.errors import (
    AbortableError,
    AuthorizationError,
    CommitFailedError,
    RebalanceInProgressError,
    RetriableError,
    TimedOutError,
)
from trio_kafka.testing.simulate import simulate

CLASSIC = {"group_id": "g", "enable_auto_commit": False, "heartbeat_interval_ms": 500}
CONSUMER = {"group_id": "g", "enable_auto_commit": False, "group_protocol": "consumer"}
TWO = {T0: OffsetAndMetadata(2)}


@pytest.mark.parametrize(
    "error", ["NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "UNKNOWN_TOPIC_OR_PARTITION"]
)
def test_commit_is_repeated_until_it_succeeds_after_a_passing(error):
    @simulate(seeds=1)
    async def run(sim):
        await sim.kafka.create_topic("t")
        async with consumer_of(sim, **CLASSIC) as consumer:
            rejected = sim.kafka.fault(api="OffsetCommit", error=error, times=3)
            await consumer.commit(TWO)
            assert rejected.hits == 3
            assert (await consumer.committed([T0]))[T0] == OffsetAndMetadata(2)

    run()


@simulate(seeds=1)
async def test_commit_without_an_answer_says_that_it_may_have_happened(sim):
    await sim.kafka.create_topic("t")

    async with consumer_of(sim, **CLASSIC) as consumer:
        assert await consumer.committed([T0]) == {T0: None}
        with sim.kafka.fault(api="OffsetCommit", drop=True), pytest.raises(TimedOutError) as error:
            await consumer.commit(TWO, timeout_s=2.0)
        assert error.value.sent
        start = trio.current_time()
        with (
            sim.kafka.fault(api="OffsetCommit", error="NOT_COORDINATOR"),
            pytest.raises(RetriableError, match="NOT_COORDINATOR"),
        ):
            await consumer.commit(TWO, timeout_s=2.0)
        assert trio.current_time() - start <= 2.0


@simulate(seeds=1)
async def test_commit_that_is_not_allowed_is_an_error_at_once(sim):
    await sim.kafka.create_topic("t")

    async with consumer_of(sim, **CLASSIC) as consumer:
        rejected = sim.kafka.fault(api="OffsetCommit", error="TOPIC_AUTHORIZATION_FAILED")
        with pytest.raises(AuthorizationError, match="t-0"):
            await consumer.commit(TWO)
        assert rejected.hits == 1


@simulate(seeds=1)
async def test_commit_during_a_classic_rebalance_fails_at_once_and_succeeds_after_the_next_read(
    sim,
):
    await sim.kafka.create_topic("t")

    async with consumer_of(sim, **CLASSIC) as consumer:
        consumer.subscribe(["t"])
        await wait_assigned(consumer, 1)
        start = trio.current_time()
        with (
            sim.kafka.fault(api="OffsetCommit", error="REBALANCE_IN_PROGRESS", times=1),
            pytest.raises(RebalanceInProgressError),
        ):
            await consumer.commit(TWO)
        assert trio.current_time() - start < 0.1
        await consumer.poll(0.1)
        await consumer.commit(TWO)
        assert (await consumer.committed([T0]))[T0] == OffsetAndMetadata(2)


@simulate(seeds=1)
async def test_commit_while_the_member_joins_fails_without_a_request_and_may_be_repeated(sim):
    """Behind the join it would time out, and take the join with it."""
    await sim.kafka.create_topic("t", 2)
    await sim.kafka.create_topic("u")

    async with consumer_of(sim, **CLASSIC) as consumer, consumer_of(sim, **CLASSIC) as other:
        for member in (consumer, other):
            member.subscribe(["t"])
        await wait_shared(consumer, other)
        joins, commits = observed(sim, "JoinGroup"), observed(sim, "OffsetCommit")
        consumer.subscribe(["t", "u"])
        await consumer.poll(0.1)
        assert len(joins) == 1, "the join waits for the other member, which does not read"
        start = trio.current_time()
        with pytest.raises(RebalanceInProgressError):
            await consumer.commit(TWO)
        assert (trio.current_time(), commits) == (start, [])
        await wait_shared(consumer, other, 3)
        await consumer.commit(TWO)
        assert len(commits) == 1


@simulate(seeds=1)
async def test_commit_of_a_member_that_the_group_has_forgotten_fails(sim):
    await sim.kafka.create_topic("t")

    async with consumer_of(sim, **CLASSIC) as consumer:
        consumer.subscribe(["t"])
        await wait_assigned(consumer, 1)
        for error in ("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"):
            rejected = sim.kafka.fault(api="OffsetCommit", error=error)
            with rejected, pytest.raises(CommitFailedError, match=error):
                await consumer.commit(TWO)
            assert rejected.hits == 1


@simulate(seeds=1)
async def test_commit_with_a_stale_epoch_is_repeated_with_the_next_one(sim):
    await sim.kafka.create_topic("t")

    async with consumer_of(sim, **CONSUMER) as consumer:
        consumer.subscribe(["t"])
        await wait_assigned(consumer, 1)
        rejected = sim.kafka.fault(api="OffsetCommit", error="STALE_MEMBER_EPOCH", times=2)
        commits = observed(sim, "OffsetCommit")
        await consumer.commit(TWO)
        member = consumer.group_metadata()

        assert rejected.hits == 2
        assert (commits[-1].member_id, commits[-1].generation_id_or_member_epoch) == (
            member.member_id,
            member.generation,
        )


@simulate(seeds=1)
async def test_read_of_committed_offsets_names_the_member_of_a_consumer_group_and_its_epoch(sim):
    await sim.kafka.create_topic("t")
    reads = observed(sim, "OffsetFetch")

    async with consumer_of(sim, **CONSUMER) as consumer:
        assert await consumer.committed([T0]) == {T0: None}
        consumer.subscribe(["t"])
        rejected = sim.kafka.fault(api="OffsetFetch", error="STALE_MEMBER_EPOCH", times=2)
        await wait_assigned(consumer, 1)
        await sim.kafka.produce("t", b"a")
        await read(consumer, 1)
        member = consumer.group_metadata()

    assert rejected.hits == 2
    first, last = reads[0].groups[0], reads[-1].groups[0]
    assert (first.member_id, first.member_epoch) == (None, -1)
    assert (last.member_id, last.member_epoch) == (member.member_id, member.generation)


@simulate(seeds=1)
async def test_offsets_of_an_open_transaction_are_waited_for_until_the_deadline(sim):
    await sim.kafka.create_topic("t")

    async with consumer_of(sim, **CLASSIC, isolation_level="read_committed") as consumer:
        with (
            sim.kafka.fault(api="OffsetFetch", error="UNSTABLE_OFFSET_COMMIT"),
            pytest.raises(TimedOutError, match="within 3 s"),
        ):
            await consumer.committed([T0], timeout_s=3.0)
        assert await consumer.committed([T0]) == {T0: None}


@simulate(seeds=1)
async def test_offsets_are_committed_and_read_and_members_leave_at_brokers_before_kafka_2_4(sim):
    await sim.kafka.as_version("2.3")
    await sim.kafka.create_topic("t")

    async with consumer_of(sim, **CLASSIC) as consumer:
        consumer.subscribe(["t"])
        await wait_assigned(consumer, 1)
        await consumer.commit(TWO)
        assert (await consumer.committed([T0]))[T0] == OffsetAndMetadata(2)
    await sim.kafka.as_version(None)
    assert not (await sim.kafka.group("g")).members


@simulate(seeds=1)
async def test_positions_are_committed_every_auto_commit_interval_and_only_when_they_move(sim):
    await sim.kafka.create_topic("t")
    settings = {**CONSUMER, "enable_auto_commit": True, "auto_commit_interval_ms": 5000}
    times = []

    def note(request, context):
        times.append(round(trio.current_time() - start))
        return True

    async with consumer_of(sim, **settings) as consumer:
        consumer.subscribe(["t"])
        await wait_assigned(consumer, 1)
        sim.kafka.fault(api="OffsetCommit", observe=True, where=note)
        start = trio.current_time()
        for seconds in (5.5, 10.5):
            await sim.kafka.produce("t", b"a")
            with trio.move_on_after(seconds):
                while True:
                    await consumer.poll(0.5)

        assert times == [5, 10], "nothing at 15, as nothing was read since"


SHORT_LIVED = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "5000"}


@pytest.mark.parametrize("is_automatic", [True, False], ids=["automatic", "explicit"])
@simulate(seeds=1, settings=SHORT_LIVED)
async def test_offsets_of_a_consumer_that_reads_nothing_do_not_expire(sim, is_automatic):
    await sim.kafka.create_topic("t")
    await sim.kafka.produce("t", b"a", b"b")

    async with consumer_of(sim, group_id="g", enable_auto_commit=is_automatic) as consumer:
        consumer.assign([T0])
        await read(consumer, 2)
        commits = observed(sim, "OffsetCommit")
        for _ in range(20):
            assert await consumer.poll(15.0) == []
            if not is_automatic:
                await consumer.commit()
        committed = await consumer.committed([T0])

    assert committed[T0].offset == 2
    assert 10 <= len(commits) <= 20, "an idle consumer does not commit at each interval"


@simulate(seeds=1, settings=SHORT_LIVED)
async def test_consumer_that_reads_nothing_renews_its_offsets_when_it_is_closed(sim):
    await sim.kafka.create_topic("t")
    async with consumer_of(sim, group_id="g") as consumer:
        consumer.assign([T0])
        await consumer.commit({T0: OffsetAndMetadata(0)})

    for _ in range(3):
        await trio.sleep(40)
        async with consumer_of(sim, group_id="g") as consumer:
            consumer.assign([T0])
            assert await consumer.poll(1.0) == []
            assert (await consumer.committed([T0]))[T0] is not None


@simulate(seeds=1)
async def test_metadata_of_the_group_name_the_member_only_while_it_is_one(sim):
    await sim.kafka.create_topic("t")

    async with consumer_of(sim, **CONSUMER, max_poll_interval_ms=5000) as consumer:
        assert consumer.group_metadata().member_id == ""
        consumer.subscribe(["t"])
        with pytest.raises(CommitFailedError):
            consumer.group_metadata()
        await wait_assigned(consumer, 1)
        member = consumer.group_metadata()
        (row,) = (await sim.kafka.group("g")).members
        assert (member.group_id, member.member_id) == ("g", row.member_id)
        assert member.generation > 0
        await trio.sleep(6.0)
        with pytest.raises(CommitFailedError):
            consumer.group_metadata()


@pytest.mark.parametrize("settings", [CLASSIC, CONSUMER], ids=["classic", "consumer"])
def test_transaction_commits_offsets_of_a_member_and_aborts_after_the_member_was_removed(settings):
    @simulate(seeds=1)
    async def run(sim):
        await sim.kafka.create_topic("t")
        await sim.kafka.produce("t", b"a", b"b")
        async with (
            producer_of(sim, transactional_id="id") as producer,
            consumer_of(sim, **settings, max_poll_interval_ms=5000) as consumer,
        ):
            consumer.subscribe(["t"])
            await read(consumer, 2)
            member = consumer.group_metadata()
            async with producer.transaction() as transaction:
                await transaction.send_offsets({T0: 1}, member)
            assert (await consumer.committed([T0]))[T0].offset == 1
            await trio.sleep(6.0)
            await read(consumer, 1)  # as a new member, or in a new epoch
            with pytest.raises(AbortableError):
                async with producer.transaction() as transaction:
                    await transaction.send_offsets({T0: 2}, member)
            async with producer.transaction() as transaction:
                await transaction.send_offsets({T0: 2}, consumer.group_metadata())
            assert (await consumer.committed([T0]))[T0].offset == 2

    run()
