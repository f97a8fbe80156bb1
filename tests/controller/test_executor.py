"""Changes are committed and published before the answer, each for itself, until the deadline."""

import trio

from tests.controller.kit import code_of, running_controller
from tests.raft.kit import format_root
from trio_kafka.controller.topics import CreatedTopic, NewTopic
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import ConfigResourceType


async def test_a_created_topic_is_in_the_metadata_image_before_the_response(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        results = await running.controller.create_topics(
            [NewTopic(name="t", partitions=3, configs={"retention.ms": "5"})]
        )
        image = running.image

    created = results["t"]
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
        results = await running.controller.create_topics(
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
    assert code_of(results["there"]) is ErrorCode.TOPIC_ALREADY_EXISTS
    assert code_of(results["a_b"]) is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert code_of(results["no!"]) is ErrorCode.INVALID_TOPIC_EXCEPTION
    assert code_of(results["twice"]) is ErrorCode.INVALID_REQUEST
    assert code_of(results["sad"]) is ErrorCode.INVALID_CONFIG


async def test_creating_topics_with_validate_only_writes_no_records(world, autojump_clock) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        before = running.driver.next_offset
        results = await running.controller.create_topics([NewTopic(name="t")], validate_only=True)

        assert isinstance(results["t"], CreatedTopic)
        assert running.driver.next_offset == before


async def test_a_create_request_past_its_deadline_returns_request_timed_out(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        results = await running.controller.create_topics(
            [NewTopic(name="t")], deadline=trio.current_time()
        )

    assert code_of(results["t"]) is ErrorCode.REQUEST_TIMED_OUT


async def test_creating_200_topics_in_one_request_needs_at_most_5_syncs(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        before = running.driver.syncs
        new_topics = [NewTopic(name=f"t{n}", partitions=2) for n in range(200)]
        results = await running.controller.create_topics(new_topics)

        assert all(isinstance(topic, CreatedTopic) for topic in results.values())
        assert running.driver.syncs - before <= 5


async def test_a_create_request_in_flight_when_the_node_resigns_returns_not_controller(
    world, autojump_clock
) -> None:
    await format_root(world)
    async with running_controller(world) as running:
        await running.join()
        results: dict[str, CreatedTopic | KafkaError] = {}

        async def create() -> None:
            results.update(await running.controller.create_topics([NewTopic(name="t")]))

        before = running.driver.next_offset
        async with trio.open_nursery() as nursery:
            nursery.start_soon(create)
            while running.driver.next_offset == before:
                await trio.lowlevel.checkpoint()
            await running.driver.resign()

    assert code_of(results["t"]) is ErrorCode.NOT_CONTROLLER
