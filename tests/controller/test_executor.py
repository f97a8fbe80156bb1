"""What is answered is committed and published, each item for itself, until the deadline."""

import trio

from tests.controller.kit import code_of, running_controller
from tests.raft.kit import format_root
from trio_kafka.controller.topics import CreatedTopic, NewTopic
from trio_kafka.errors import ErrorCode
from trio_kafka.metadata.image import ConfigResourceType


async def test_a_created_topic_is_in_the_metadata_image_before_the_response(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        made = await running.controller.create_topics(
            [NewTopic(name="t", partitions=3, configs={"retention.ms": "5"})]
        )
        image = running.image

    created = made["t"]
    assert isinstance(created, CreatedTopic)
    assert (created.partitions, created.replication_factor) == (3, 1)
    assert image.topic(created.id) is image.topics["t"]
    assert [state.leader for state in image.topics["t"].partitions.values()] == [1, 1, 1]
    assert image.config(ConfigResourceType.TOPIC, "t") == {"retention.ms": "5"}


async def test_a_response_waits_until_a_topic_of_2000_partitions_is_replayed(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        await running.controller.create_topics([NewTopic(name="t", partitions=2000)])

        assert len(running.image.topics["t"].partitions) == 2000


async def test_each_topic_of_a_create_request_succeeds_or_fails_on_its_own(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        await running.controller.create_topics([NewTopic(name="there")])
        made = await running.controller.create_topics(
            [
                NewTopic(name="there"),
                NewTopic(name="a.b"),
                NewTopic(name="a_b"),
                NewTopic(name="no!"),
                NewTopic(name="twice"),
                NewTopic(name="twice", partitions=2),
                NewTopic(name="sad", configs={"retention.ms": "bad"}),
            ]
        )
        topics = set(running.image.topics)

    assert topics == {"there", "a.b"}
    assert code_of(made["there"]) is ErrorCode.TOPIC_ALREADY_EXISTS
    assert code_of(made["a_b"]) is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert code_of(made["no!"]) is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert code_of(made["twice"]) is ErrorCode.INVALID_REQUEST
    assert code_of(made["sad"]) is ErrorCode.INVALID_CONFIG


async def test_creating_topics_with_validate_only_writes_no_records(world, autojump_clock) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        before = running.driver.next_offset
        made = await running.controller.create_topics([NewTopic(name="t")], validate_only=True)

        assert isinstance(made["t"], CreatedTopic)
        assert running.driver.next_offset == before


async def test_a_create_request_past_its_deadline_returns_request_timed_out(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        made = await running.controller.create_topics(
            [NewTopic(name="t")], deadline=trio.current_time()
        )

    assert code_of(made["t"]) is ErrorCode.REQUEST_TIMED_OUT


async def test_creating_200_topics_in_one_request_needs_at_most_5_syncs(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        before = running.driver.syncs
        wanted = [NewTopic(name=f"t{n}", partitions=2) for n in range(200)]
        made = await running.controller.create_topics(wanted)

        assert all(isinstance(one, CreatedTopic) for one in made.values())
        assert running.driver.syncs - before <= 5
