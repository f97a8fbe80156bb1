from collections.abc import Sequence

import trio

from tests.broker.kit import APIS, config_of
from trio_kafka.broker import Broker
from trio_kafka.broker.parts.topic_creation import MOST, TopicCreation, creator, internal_topics
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.metadata.image import ConfigResourceType
from trio_kafka.metadata.names import CONSUMER_OFFSETS

TAKEN = KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS)


async def test_topic_is_auto_created_once_for_repeated_requests(autojump_clock) -> None:
    requests: list[list[str]] = []

    async def create(names: Sequence[str]) -> dict[str, KafkaError | None]:
        requests.append(list(names))
        creation.want(names)
        await trio.sleep(1)
        return {name: TAKEN if name == "b" else None for name in names}

    root = Node("broker", "broker")
    creation = TopicCreation(create, root)
    async with trio.open_nursery() as nursery:
        await nursery.start(creation.run)
        creation.want(["a", "b", "a"])
        await trio.sleep(0.5)
        creation.want(["a", "c"])
        await trio.sleep(5)
        nursery.cancel_scope.cancel()

    assert requests == [["a", "b"], ["c"]]
    figures = root.children[0].figures()
    assert figures == {
        "wanted": 0,
        "bound": MOST,
        "high_water": 3,
        "created": 2,
        "refused": 1,
        "dropped": 0,
    }


async def test_topic_creation_is_retried_on_request_after_the_controller_refused(
    autojump_clock,
) -> None:
    requests: list[list[str]] = []

    async def create(names: Sequence[str]) -> dict[str, KafkaError | None]:
        requests.append(list(names))
        await trio.sleep(1)
        raise KafkaError(ErrorCode.NOT_CONTROLLER)

    creation = TopicCreation(create, Node("broker", "broker"))
    async with trio.open_nursery() as nursery:
        await nursery.start(creation.run)
        for _ in range(2):
            creation.want(["a"])
            await trio.sleep(2)
        nursery.cancel_scope.cancel()

    assert requests == [["a"], ["a"]]


async def test_topic_names_beyond_the_limit_of_pending_creations_are_dropped() -> None:
    async def create(names: Sequence[str]) -> dict[str, KafkaError | None]:
        await trio.sleep_forever()
        raise AssertionError

    root = Node("broker", "broker")
    creation = TopicCreation(create, root)

    creation.want(map(str, range(MOST + 3)))
    creation.want(["0"])

    figures = root.children[0].figures()
    assert (figures["wanted"], figures["dropped"]) == (MOST, 3)


async def test_auto_created_topic_has_the_brokers_default_partition_count(
    world, autojump_clock
) -> None:
    config = config_of({"num.partitions": "3"})
    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        create = creator(broker.controller, {})

        assert await create(["t"]) == {"t": None}
        assert len(broker.metadata.image.topics["t"].partitions) == 3
        assert (await create(["t"]))["t"].code is ErrorCode.TOPIC_ALREADY_EXISTS


async def test_offsets_topic_is_created_with_the_configs_of_kafka(world, autojump_clock) -> None:
    config = config_of(
        {"offsets.topic.num.partitions": "7", "offsets.topic.segment.bytes": "1048576"}
    )
    async with Broker(config, world, format_if_empty=True, apis=APIS) as broker:
        create = creator(broker.controller, internal_topics(broker.config))

        assert await create([CONSUMER_OFFSETS]) == {CONSUMER_OFFSETS: None}
        image = broker.metadata.image
        assert len(image.topics[CONSUMER_OFFSETS].partitions) == 7
        assert image.config(ConfigResourceType.TOPIC, CONSUMER_OFFSETS) == {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": "1048576",
        }
