"""Timers of members of both protocols, in virtual time."""

import pytest
import trio

from tests.clients.consumer.groups.kit import noted, observed, wait_assigned, wait_shared
from tests.clients.consumer.kit import T0, consumer_of, read, values
from trio_kafka.clients import OffsetAndMetadata, RebalanceListener
from trio_kafka.clients.errors import CommitFailedError
from trio_kafka.testing.simulate import simulate

CLASSIC = {"group_id": "g", "heartbeat_interval_ms": 2000, "session_timeout_ms": 10_000}
CONSUMER = {"group_id": "g", "group_protocol": "consumer"}
BOTH = pytest.mark.parametrize(
    ("settings", "api"),
    [(CLASSIC, "Heartbeat"), (CONSUMER, "ConsumerGroupHeartbeat")],
    ids=["classic", "consumer"],
)


@BOTH
def test_heartbeats_are_sent_at_their_interval_also_while_nothing_is_read(settings, api):
    """That of the setting in the classic protocol; that of the broker, 5 s, in the other."""

    @simulate(seeds=1)
    async def run(sim):
        await sim.kafka.create_topic("t")
        async with consumer_of(sim, **settings) as consumer:
            consumer.subscribe(["t"])
            await wait_assigned(consumer, 1)
            await trio.sleep(6.0)
            beats = observed(sim, api)
            await trio.sleep(20.5)
            assert len(beats) in ({10, 11} if settings is CLASSIC else {4, 5})

    run()


@simulate(seeds=1)
async def test_partitions_are_acknowledged_right_after_the_hook_and_not_at_the_next_heartbeat(sim):
    await sim.kafka.create_topic("t", 2)
    revoked, acknowledged = [], []

    async def on_revoked(partitions):
        revoked.append(trio.current_time())

    def note(request, context):
        if request.topic_partitions and len(request.topic_partitions[0].partitions) == 1:
            acknowledged.append(trio.current_time())
        return True

    async with consumer_of(sim, **CONSUMER) as consumer, consumer_of(sim, **CONSUMER) as other:
        consumer.subscribe(["t"], listener=RebalanceListener(on_revoked=on_revoked))
        await wait_assigned(consumer, 2)
        sim.kafka.fault(api="ConsumerGroupHeartbeat", observe=True, where=note)
        other.subscribe(["t"])
        await wait_shared(consumer, other)
        assert acknowledged[0] - revoked[0] < 0.1


@BOTH
def test_member_whose_heartbeats_are_lost_is_removed_after_its_session_and_joins_again(
    settings, api
):
    @simulate(seeds=1)
    async def run(sim):
        await sim.kafka.create_topic("t")
        log = []
        lost = []

        async def on_lost(partitions):
            lost.append(round(trio.current_time() - start))

        async with consumer_of(
            sim, **settings, max_poll_interval_ms=600_000, request_timeout_ms=5000
        ) as consumer:
            listener = noted("", log)
            consumer.subscribe(
                ["t"],
                listener=RebalanceListener(on_assigned=listener.on_assigned, on_lost=on_lost),
            )
            await wait_assigned(consumer, 1)
            start = trio.current_time()
            with sim.kafka.fault(api=api, drop=True), trio.move_on_after(70.0):
                while True:
                    await consumer.poll(1.0)
            assert not (await sim.kafka.group("g")).members
            with trio.fail_after(60.0):
                while not lost:
                    await consumer.poll(0.5)
            await sim.kafka.produce("t", b"a")
            assert values(await read(consumer, 1)) == [b"a"]

        assert len(lost) == 1
        assert [entry[2] for entry in log] == [[T0], [T0]]

    run()


@BOTH
def test_member_whose_user_does_not_read_within_max_poll_interval_loses_its_partitions(
    settings, api
):
    @simulate(seeds=1)
    async def run(sim):
        await sim.kafka.create_topic("t")
        async with consumer_of(sim, **settings, max_poll_interval_ms=8000) as consumer:
            consumer.subscribe(["t"])
            await wait_assigned(consumer, 1)
            await trio.sleep(7.5)
            assert len((await sim.kafka.group("g")).members) == 1
            await trio.sleep(1.0)
            assert not (await sim.kafka.group("g")).members
            beats = observed(sim, api)
            await trio.sleep(60.0)
            assert beats == [], "it joins again only when the user reads"
            with pytest.raises(CommitFailedError):  # the group is empty: it would accept a commit
                await consumer.commit({T0: OffsetAndMetadata(1)})
            await wait_assigned(consumer, 1)

    run()


@BOTH
def test_member_whose_user_waits_in_a_read_is_not_removed(settings, api):
    @simulate(seeds=1)
    async def run(sim):
        await sim.kafka.create_topic("t")
        async with consumer_of(sim, **settings, max_poll_interval_ms=8000) as consumer:
            consumer.subscribe(["t"])
            await wait_assigned(consumer, 1)
            assert await consumer.poll(60.0) == []
            assert consumer.group.expirations == 0

    run()


@BOTH
def test_slow_revocation_is_cancelled_at_max_poll_interval_and_the_other_member_gets_its_part(
    settings, api
):
    @simulate(seeds=1)
    async def run(sim):
        await sim.kafka.create_topic("t", 2)

        async def on_revoked(partitions):
            await trio.sleep(1000.0)

        async with (
            consumer_of(sim, **settings, max_poll_interval_ms=20_000) as slow,
            consumer_of(sim, **settings) as other,
        ):
            slow.subscribe(["t"], listener=RebalanceListener(on_revoked=on_revoked))
            await wait_assigned(slow, 2)
            other.subscribe(["t"])
            start = trio.current_time()

            async def poll():
                while True:
                    await slow.poll(1.0)

            async with trio.open_nursery() as nursery:
                nursery.start_soon(poll)
                await wait_assigned(other, 1)
                assert 10.0 <= trio.current_time() - start <= 45.0
                assert slow.group.rebalance.late >= 1
                nursery.cancel_scope.cancel()
            slow.group.rebalance.listener = RebalanceListener()

    run()
