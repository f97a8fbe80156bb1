"""Classic groups with members of ours, against the broker in virtual time."""

import pytest
import trio

from tests.clients.consumer.groups.kit import noted, wait_assigned
from tests.clients.consumer.kit import consumer_of, values
from trio_kafka.testing.simulate import simulate

GROUP = {"group_id": "g", "heartbeat_interval_ms": 500}


@pytest.mark.parametrize("assignor", ["range", "roundrobin", "sticky", "cooperative-sticky"])
def test_two_members_share_the_partitions_and_the_rest_returns_when_one_leaves(assignor):
    @simulate(seeds=1)
    async def run(sim):
        await sim.kafka.create_topic("t", 2)
        log = []
        settings = {**GROUP, "partition_assignment_strategy": assignor}
        async with consumer_of(sim, **settings) as first:
            first.subscribe(["t"], listener=noted("first", log))
            await wait_assigned(first, 2)
            async with consumer_of(sim, **settings) as second:
                second.subscribe(["t"], listener=noted("second", log))
                with trio.fail_after(60):
                    while not (len(first.assignment) == len(second.assignment) == 1):
                        await first.poll(0.1)
                        await second.poll(0.1)
                await sim.kafka.produce("t", *[b"%d" % n for n in range(10)])
                seen = []
                with trio.fail_after(60):
                    while len(seen) < 10:
                        seen += values(await first.poll(0.1)) + values(await second.poll(0.1))
            await wait_assigned(first, 2)

        assert sorted(seen, key=int) == [b"%d" % n for n in range(10)]
        revoked = next(entry for entry in log if entry[1] == "revoked")
        assert len(revoked[2]) == (1 if assignor == "cooperative-sticky" else 2)

    run()


@simulate(seeds=1)
async def test_pattern_is_matched_here_and_finds_topics_that_are_created_later(sim):
    await sim.kafka.create_topic("t-1")
    await sim.kafka.create_topic("other")

    async with consumer_of(sim, **GROUP, metadata_max_age_ms=2000) as consumer:
        consumer.subscribe(pattern="t-.*")
        await wait_assigned(consumer, 1)
        await sim.kafka.create_topic("t-2", 2)
        await wait_assigned(consumer, 3)

    assert {at.topic for at in consumer.assignment} <= {"t-1", "t-2"}
